import * as z from 'zod/mini';
import { FUNCTION } from './check-options.ts';
import type { Random } from './random.ts';
import { callOwn, SandboxError, show } from './sandbox-error.ts';

/**
 * How long a request takes, in milliseconds: a constant, evenly distributed between two values, log-normal with a median and a 99th
 * percentile (most requests are fast, a few slow), or the result of a function.
 *
 * @example
 * const latency: Latency = { medianMs: 5, p99Ms: 20 };
 * const slow = createSandbox({ latency, seed: 7 });
 */
export type Latency =
  | number
  | {
      /** The shortest latency. */
      fromMs: number;
      /** The longest latency. */
      toMs: number;
    }
  | {
      /** Half of the requests take less. */
      medianMs: number;
      /** One request in a hundred takes longer. */
      p99Ms: number;
    }
  | (() => number);

/** The 99th percentile of the standard normal distribution. */
const NORMAL_P99 = 2.3263;

/** Draws the latency of one request. @throws {SandboxError} for a function that throws or returns no number */
export function drawLatency(latency: Latency, random: Random): number {
  if (typeof latency === 'number') return latency;
  if (typeof latency === 'function') return askLatency(latency);
  if ('fromMs' in latency) return latency.fromMs + random() * (latency.toMs - latency.fromMs);
  const spread = Math.log(latency.p99Ms / latency.medianMs) / NORMAL_P99;
  return latency.medianMs * Math.exp(spread * drawNormal(random));
}

function askLatency(latency: () => number): number {
  const ms: unknown = callOwn('the function of a latency', latency);
  if (typeof ms === 'number' && Number.isFinite(ms)) return ms;
  throw new SandboxError(`Cannot use the function of a latency: it returned ${show(ms)}, not a number`);
}

/** A normally distributed number from two evenly distributed ones (Box–Muller transform). */
function drawNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const time = z.number().check(z.gte(0));

/** The rule for a latency in messages. */
export const LATENCY_RULE = 'it must be milliseconds, { fromMs, toMs }, { medianMs, p99Ms } or a function';

/** The schema of `Latency`. */
export const latencySchema = z.union([
  time,
  FUNCTION,
  z.strictObject({ fromMs: time, toMs: time }).check(z.refine(({ fromMs, toMs }) => fromMs <= toMs)),
  z.strictObject({ medianMs: time, p99Ms: time }).check(z.refine(({ medianMs, p99Ms }) => medianMs > 0 && medianMs <= p99Ms)),
]);
