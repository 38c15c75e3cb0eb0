import type { Outcome } from './play.ts';

/** What one world may do at most before it is printed. */
const MOST_REFUSALS = 12;
const MOST_SLOWNESS = 3;

/** What many worlds together may do at most; twice or so of what seeds 1 to 1500 do. */
const LIMITS = { bans: 1, refusals: 60, failedWorlds: 1, slownessP50: 1.05, slownessP90: 1.3, slownessP99: 4 };

/** What went wrong in a world. */
export function faultsOf(outcome: Outcome): string[] {
  const { ending, early, bans, rateLimited, failed, slowness, calls } = outcome;
  const faults = [...hardFaultsOf(outcome)];
  if (bans > 0) faults.push(`banned ${bans} times`);
  if (rateLimited > MOST_REFUSALS) faults.push(`${rateLimited} answers with 429 for ${calls} calls`);
  if (failed.length > 0) faults.push(`${failed.length} calls failed: ${failed[0]}`);
  if (ending === 'done' && early === 0 && slowness > MOST_SLOWNESS) faults.push(`${slowness.toFixed(1)} times the ideal time`);
  return faults;
}

/** What must not happen in any world. */
export function hardFaultsOf({ ending, early }: Outcome): string[] {
  const faults: string[] = [];
  if (ending !== 'done') faults.push(`calls ${ending}`);
  if (early > 0) faults.push(`${early} requests before the end of Retry-After`);
  return faults;
}

/** The figures of many worlds, with those beyond their limits marked. */
export function summarize(outcomes: readonly Outcome[]): { lines: string[]; isGood: boolean } {
  const per100 = (count: number) => (count * 100) / outcomes.length;
  const sum = (figure: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + figure(outcome), 0);
  const slowness = outcomes.map((outcome) => outcome.slowness).sort((a, b) => a - b);
  const at = (part: number) => slowness[Math.min(slowness.length - 1, Math.floor(slowness.length * part))] ?? 0;
  const figures = [
    { name: 'worlds with calls that never settle', is: sum(({ ending }) => (ending === 'done' ? 0 : 1)), most: 0 },
    { name: 'requests before the end of Retry-After', is: sum(({ early }) => early), most: 0 },
    { name: 'bans in 100 worlds', is: per100(sum(({ bans }) => bans)), most: LIMITS.bans },
    { name: 'answers with 429 in 100 worlds', is: per100(sum(({ rateLimited }) => rateLimited)), most: LIMITS.refusals },
    { name: 'worlds with failed calls in 100', is: per100(sum(({ failed }) => Math.sign(failed.length))), most: LIMITS.failedWorlds },
    { name: 'time against the ideal, half of the worlds', is: at(0.5), most: LIMITS.slownessP50 },
    { name: 'time against the ideal, nine of ten worlds', is: at(0.9), most: LIMITS.slownessP90 },
    { name: 'time against the ideal, 99 of 100 worlds', is: at(0.99), most: LIMITS.slownessP99 },
  ];
  const lines = figures.map(({ name, is, most }) => `${is > most ? 'FAIL' : 'ok  '}  ${name}: ${Number(is.toFixed(2))}, at most ${most}`);
  return { lines, isGood: figures.every(({ is, most }) => is <= most) };
}
