// What a call costs over loopback HTTP, one after the other and 50 at once: each client in a process of its own, so that none pays for
// the garbage of another, all of them in turn.
import { PEERS } from './peers.ts';
import { type Asking, median, startAsking, startService } from './processes.ts';

/** Microseconds of CPU per call, and the median of the latencies in milliseconds; or the ratio of both to bare fetch and json(). */
export interface Cost {
  cpu: number;
  p50: number;
}

const ROUNDS = 15;
/** They fill caches and compile; they do not count. */
const WARM_UP_ROUNDS = 5;

/** Each figure is the median over the rounds of the ratio to bare fetch in the same round. */
export async function measureCalls(inFlight: number): Promise<Record<string, Cost>> {
  const service = await startService();
  const clients = Object.keys(PEERS).map((name) => ({
    name,
    process: startAsking('call-case.ts', [name, service.baseUrl, `${inFlight}`]),
  }));
  const rounds: Record<string, Cost>[] = [];
  try {
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) rounds.push(await measureRound(rotated(clients, round)));
  } finally {
    for (const client of clients) client.process.stop();
    service.stop();
  }
  return Object.fromEntries(clients.map(({ name }) => [name, ratios(name, rounds.slice(WARM_UP_ROUNDS))]));
}

/** Each goes first in its turn. */
function rotated<T>(all: readonly T[], round: number): T[] {
  const first = round % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

async function measureRound(clients: readonly { name: string; process: Asking }[]): Promise<Record<string, Cost>> {
  const costs: Record<string, Cost> = {};
  for (const { name, process } of clients) costs[name] = await process.ask<Cost>();
  return costs;
}

function ratios(name: string, rounds: readonly Record<string, Cost>[]): Cost {
  const of = (field: keyof Cost) =>
    median(rounds.map((round) => (round[name]?.[field] ?? Number.NaN) / (round.fetch?.[field] ?? Number.NaN)));
  return { cpu: of('cpu'), p50: of('p50') };
}
