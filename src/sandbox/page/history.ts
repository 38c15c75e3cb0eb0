import type { KnownKey } from '../keyring.ts';
import type { SandboxRequest } from '../ledger.ts';
import type { Desk } from '../reception.ts';

/** The length of the graph. */
const SECONDS = 300;

/** The requests of a key in one second, and its quota after them. */
interface Sample {
  /** Since 1970, by the sandbox's clock. */
  second: number;
  requests: number;
  /** Requests that were refused with a 429 or by a ban. */
  refused: number;
  /** What was left of the minute after the last request. */
  remaining: number;
  limit: number;
  resetAtMs: number;
  /** The end of the penalty or ban, in milliseconds since 1970. */
  waitsUntilMs: number;
}

interface KeyHistory extends KnownKey {
  samples: Sample[];
}

/** Keeps the latest minutes of every key that is used in production: one sample for each second with a request. */
export class History {
  readonly #desk: Desk;
  readonly #byKey = new Map<string, KeyHistory>();

  constructor(desk: Desk) {
    this.#desk = desk;
    desk.ledger.subscribe((request) => (request ? this.#note(request) : this.#byKey.clear()));
  }

  /** The keys that were used in the latest minutes. */
  list(): KeyHistory[] {
    const first = Math.floor(this.#desk.clock.now() / 1000) - SECONDS;
    for (const [key, { samples }] of this.#byKey) {
      while (samples[0] !== undefined && samples[0].second < first) samples.shift();
      if (samples.length === 0) this.#byKey.delete(key);
    }
    return [...this.#byKey.values()];
  }

  #note({ key, plan, environment, status, code }: SandboxRequest): void {
    if (key === undefined || plan === undefined || environment !== 'production') return;
    const history = this.#byKey.get(key) ?? { key, plan, samples: [] };
    this.#byKey.set(key, history);
    const sample = this.#sampleOf(history);
    sample.requests += 1;
    if (status === 429 || code === 'key_banned') sample.refused += 1;
  }

  #sampleOf({ samples, ...known }: KeyHistory): Sample {
    const nowMs = this.#desk.clock.now();
    const { minute, penaltyUntilMs, bannedUntilMs } = this.#desk.keyring.meter('production', known).gauges(nowMs);
    const figures = { ...minute, waitsUntilMs: Math.max(penaltyUntilMs, bannedUntilMs, 0) };
    const second = Math.floor(nowMs / 1000);
    const last = samples.at(-1);
    if (last?.second === second) return Object.assign(last, figures);
    const sample = { second, requests: 0, refused: 0, ...figures };
    samples.push(sample);
    if (samples.length > SECONDS) samples.shift();
    return sample;
  }
}
