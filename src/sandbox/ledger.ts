/**
 * One request that the sandbox received.
 *
 * @example
 * await petstore.updateInventory(1, { quantity: 12 });
 * const [first]: readonly SandboxRequest[] = sandbox.requests;
 * console.log(first?.method, first?.path, first?.quantity, first?.status); // → PATCH /inventory/1 12 200
 */
export interface SandboxRequest {
  /** Counts from 1, over all keys and environments, in the order of arrival. Only `reset()` makes it begin again. */
  readonly number: number;
  /** When it arrived, by the sandbox's clock, in milliseconds since 1970. */
  readonly atMs: number;
  /** The HTTP method. */
  readonly method: string;
  /** Without the query and without the environment's base path: `/inventory/42`. */
  readonly path: string;
  /** The environment to which it was sent. */
  readonly environment: 'production' | 'staging';
  /** The key, if it is valid; other keys are never kept. */
  readonly key: string | undefined;
  /** The plan of the key. */
  readonly plan: string | undefined;
  /** The pet that the path names. */
  readonly petId: bigint | undefined;
  /** Whether the request came after a 429 and before the end of the wait that this 429 asked for. */
  readonly duringPenalty: boolean;
  /** The quantity that an update asked for, if its body was read and valid. */
  quantity: number | undefined;
  /** The status of the answer, also of one that a fault held back. Undefined until there is an answer, and if a fault prevented it. */
  status: number | undefined;
  /** The `code` of the Error body. */
  code: string | undefined;
  /** The fault that was injected. */
  fault: string | undefined;
}

/**
 * The counts of a sandbox's requests, for assertions in tests.
 *
 * @example
 * await petstore.listInventory();
 * const report: SandboxReport = sandbox.report();
 * console.log(report.requests, report.byStatus, report.rateLimited); // → 1 { '200': 1 } 0
 */
export interface SandboxReport {
  /** Number of requests. */
  requests: number;
  /** Number of answers by status, without requests that have no answer yet. */
  byStatus: Record<number, number>;
  /** Number of requests by plan; `none` counts requests without a valid key. */
  byPlan: Record<string, number>;
  /** Answers with 429. */
  rateLimited: number;
  /** Requests that came during a penalty, admitted or not. */
  duringPenalty: number;
  /** Number of bans. */
  bans: number;
  /** Requests to which a fault was applied. */
  faults: number;
  /** Applied updates by pet. */
  updatesByPet: Record<string, number>;
}

/** The record of requests: the latest in full, and counts of all. */
export class Ledger {
  /** The latest requests, oldest first. */
  readonly requests: SandboxRequest[] = [];
  readonly #limit: number;
  readonly #listeners = new Set<(request: SandboxRequest | undefined) => void>();
  #report: SandboxReport = emptyReport();
  #opened = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Records a request on arrival. */
  open(arrival: Omit<SandboxRequest, 'number' | 'quantity' | 'status' | 'code' | 'fault'>): SandboxRequest {
    this.#report.requests += 1;
    this.#opened += 1;
    const request: SandboxRequest = {
      number: this.#opened,
      ...arrival,
      quantity: undefined,
      status: undefined,
      code: undefined,
      fault: undefined,
    };
    this.requests.push(request);
    // Removes many at once: removing one at a time would move the whole array for every request.
    if (this.requests.length >= this.#limit * 1.25) this.requests.splice(0, this.requests.length - this.#limit);
    count(this.#report.byPlan, arrival.plan ?? 'none');
    if (arrival.duringPenalty) this.#report.duringPenalty += 1;
    return request;
  }

  /** Records the status of the answer; undefined if a fault prevented the answer. */
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

  /** Calls the listener with every settled request, and with undefined when they are forgotten; returns a function that removes it. */
  subscribe(listener: (request: SandboxRequest | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A copy of the counts. */
  report(): SandboxReport {
    return structuredClone(this.#report);
  }

  /** Forgets requests and counts; numbers go on. */
  clear(): void {
    this.requests.length = 0;
    this.#report = emptyReport();
    for (const listener of this.#listeners) listener(undefined);
  }

  /** Forgets requests and counts; the next request has the number 1. */
  reset(): void {
    this.clear();
    this.#opened = 0;
  }
}

function emptyReport(): SandboxReport {
  // A plan may have the name of something that every other object has.
  return { requests: 0, byStatus: {}, byPlan: Object.create(null), rateLimited: 0, duringPenalty: 0, bans: 0, faults: 0, updatesByPet: {} };
}

function count(counts: Record<string | number, number>, name: string | number): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
