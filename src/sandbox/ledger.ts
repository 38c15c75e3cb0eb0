/**
 * One request as the sandbox saw it.
 *
 * @example
 * await petstore.updateInventory(1, { quantity: 12 });
 * const [first]: readonly SandboxRequest[] = sandbox.requests;
 * console.log(first?.method, first?.path, first?.quantity, first?.status); // → PATCH /inventory/1 12 200
 */
export interface SandboxRequest {
  /** Counts from 1, over all keys and environments, in the order of arrival. */
  readonly number: number;
  /** When it arrived, by the sandbox's clock, in milliseconds since 1970. */
  readonly atMs: number;
  /** The HTTP method. */
  readonly method: string;
  /** Without the query and without the environment's base path: `/inventory/42`. */
  readonly path: string;
  /** Whose address was asked. */
  readonly environment: 'production' | 'staging';
  /** The key, if the sandbox knows it; a foreign one is never kept. */
  readonly key: string | undefined;
  /** The plan of the key. */
  readonly plan: string | undefined;
  /** The pet that the path names. */
  readonly petId: bigint | undefined;
  /** It came after a 429 and before the time that the 429 had told. */
  readonly duringPenalty: boolean;
  /** The quantity that an update asked for, if its body was read and sound. */
  quantity: number | undefined;
  /** What was answered, or would have been if no fault had kept the answer back; undefined while it is being worked on. */
  status: number | undefined;
  /** The `code` of the Error body. */
  code: string | undefined;
  /** What went wrong on purpose. */
  fault: string | undefined;
}

/**
 * What a test wants to assert, in one object.
 *
 * @example
 * await petstore.listInventory();
 * const report: SandboxReport = sandbox.report();
 * console.log(report.requests, report.byStatus, report.rateLimited); // → 1 { '200': 1 } 0
 */
export interface SandboxReport {
  /** Number of requests. */
  requests: number;
  /** Number of answers by status; requests without an answer yet are not in it. */
  byStatus: Record<number, number>;
  /** Number of requests by plan; requests without a valid key are under `none`. */
  byPlan: Record<string, number>;
  /** Answers with 429. */
  rateLimited: number;
  /** Requests that came during a penalty, admitted or not. */
  duringPenalty: number;
  /** Times a key was banned. */
  bans: number;
  /** Faults that happened. */
  faults: number;
  /** Applied updates by pet. */
  updatesByPet: Record<string, number>;
}

/** Keeps what was seen: the latest requests in full, and counts of all. */
export class Ledger {
  /** The latest requests, oldest first. */
  readonly requests: SandboxRequest[] = [];
  readonly #limit: number;
  readonly #listeners = new Set<(request: SandboxRequest) => void>();
  #report: SandboxReport = emptyReport();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Notes an arrival. */
  open(arrival: Omit<SandboxRequest, 'number' | 'quantity' | 'status' | 'code' | 'fault'>): SandboxRequest {
    this.#report.requests += 1;
    const request: SandboxRequest = {
      number: this.#report.requests,
      ...arrival,
      quantity: undefined,
      status: undefined,
      code: undefined,
      fault: undefined,
    };
    this.requests.push(request);
    // Cut in one go: to drop one at a time would move the whole array for every request.
    if (this.requests.length >= this.#limit * 1.25) this.requests.splice(0, this.requests.length - this.#limit);
    count(this.#report.byPlan, arrival.plan ?? 'none');
    if (arrival.duringPenalty) this.#report.duringPenalty += 1;
    return request;
  }

  /** Notes what was answered; undefined, if a fault let no answer come about. */
  settle(request: SandboxRequest, status: number | undefined): void {
    request.status = status;
    if (status !== undefined) count(this.#report.byStatus, status);
    if (status === 429) this.#report.rateLimited += 1;
    if (request.fault !== undefined) this.#report.faults += 1;
    for (const listener of this.#listeners) listener(request);
  }

  noteBan(): void {
    this.#report.bans += 1;
  }

  noteUpdate(petId: bigint): void {
    count(this.#report.updatesByPet, String(petId));
  }

  /** Calls the listener with every request once it is settled; returns a function that ends this. */
  subscribe(listener: (request: SandboxRequest) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A copy of the counts. */
  report(): SandboxReport {
    return structuredClone(this.#report);
  }

  /** Forgets requests and counts; the numbers begin at 1 again. */
  clear(): void {
    this.requests.length = 0;
    this.#report = emptyReport();
  }
}

function emptyReport(): SandboxReport {
  return { requests: 0, byStatus: {}, byPlan: {}, rateLimited: 0, duringPenalty: 0, bans: 0, faults: 0, updatesByPet: {} };
}

function count(counts: Record<string | number, number>, name: string | number): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
