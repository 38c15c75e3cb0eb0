import * as z from 'zod/mini';
import type { Random } from './random.ts';

/**
 * How long a request takes, in milliseconds: the same for all, evenly between two ends, log-normal with a median and a 99th
 * percentile (most requests quick, a few slow), or whatever a function says.
 *
 * @example
 * const latency: Latency = { medianMs: 5, p99Ms: 20 };
 * const slow = createSandbox({ latency, seed: 7 });
 */
export type Latency = number | { fromMs: number; toMs: number } | { medianMs: number; p99Ms: number } | (() => number);

/** 99 % of a standard normal distribution lie below this. */
const NORMAL_P99 = 2.3263;

/** Draws the latency of one request. */
export function drawLatency(latency: Latency, random: Random): number {
  if (typeof latency === 'number') return latency;
  if (typeof latency === 'function') return latency();
  if ('fromMs' in latency) return latency.fromMs + random() * (latency.toMs - latency.fromMs);
  const spread = Math.log(latency.p99Ms / latency.medianMs) / NORMAL_P99;
  return latency.medianMs * Math.exp(spread * drawNormal(random));
}

/** Box and Muller's way from two even numbers to a normal one. */
function drawNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const time = z.number().check(z.gte(0));

/** The sentence that says what a latency may be. */
export const LATENCY_RULE = 'it must be milliseconds, { fromMs, toMs }, { medianMs, p99Ms } or a function';

/** What `Latency` accepts. */
export const latencySchema = z.union([
  time,
  z.custom<() => number>((value) => typeof value === 'function'),
  z.strictObject({ fromMs: time, toMs: time }).check(z.refine(({ fromMs, toMs }) => fromMs <= toMs)),
  z.strictObject({ medianMs: time, p99Ms: time }).check(z.refine(({ medianMs, p99Ms }) => medianMs > 0 && medianMs <= p99Ms)),
]);
