import type { Sandbox } from 'petstore-inventory/sandbox';

/** Carries a client's requests, and counts those that it sends before the end of a wait that it was told. */
export class RetryAfterWatch {
  early = 0;
  readonly #sandbox: Sandbox<string>;
  readonly #serviceNow: () => number;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor({ sandbox, serviceNow }: { sandbox: Sandbox<string>; serviceNow: () => number }) {
    this.#sandbox = sandbox;
    this.#serviceNow = serviceNow;
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    if (this.#serviceNow() < this.#untilMs) this.early += 1;
    const request = new Request(input, init);
    const answer = await this.#sandbox.fetch(request, init);
    const told = answer.status === 429 ? answer.headers.get('retry-after') : null;
    if (told !== null) this.#untilMs = Math.max(this.#untilMs, this.#readUntilMs(told, request.url));
    return answer;
  };

  /** Seconds count from when the service refused, which its ledger has; the longest of waits that overlap holds. */
  #readUntilMs(told: string, url: string): number {
    if (!/^[\d.]+$/.test(told)) return Date.parse(told);
    const refusal = this.#sandbox.requests.findLast(({ path, status }) => status === 429 && url.endsWith(path));
    return (refusal?.atMs ?? Number.NEGATIVE_INFINITY) + Number(told) * 1_000;
  }
}
