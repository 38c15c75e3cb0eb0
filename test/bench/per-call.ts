// What a call costs over loopback HTTP, one after the other and 50 at once: all clients in one process, in interleaved rounds.
import { Bench } from 'tinybench';
import { PEERS } from './peers.ts';
import { median, startService } from './processes.ts';

export interface CallCost {
  /** Of bare fetch and json(). */
  cpu: number;
  p50: number;
}

interface Round {
  cpu: number;
  p50: number;
}

const ROUNDS = 12;
const CALLS_PER_ROUND = 300;

/** Each figure is the median over the rounds of the ratio to bare fetch in the same round. */
export async function measureCalls(inFlight: number): Promise<Record<string, CallCost>> {
  const service = await startService();
  const lists = Object.entries(PEERS).map(([name, make]) => ({ name, list: make({ baseUrl: service.baseUrl, fetch: globalThis.fetch }) }));
  const rounds: Record<string, Round>[] = [];
  // The first rounds compile; they do not count.
  for (let round = -2; round < ROUNDS; round++) {
    const measured = await measureRound(rotated(lists, round), inFlight);
    if (round >= 0) rounds.push(measured);
  }
  service.stop();
  return Object.fromEntries(lists.map(({ name }) => [name, ratios(name, rounds)]));
}

/** Each goes first in its turn: whoever does pays for the garbage of the last. */
function rotated<T>(all: readonly T[], round: number): T[] {
  const first = (round + all.length) % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

async function measureRound(
  lists: readonly { name: string; list: () => Promise<unknown> }[],
  inFlight: number,
): Promise<Record<string, Round>> {
  const iterations = Math.ceil(CALLS_PER_ROUND / inFlight);
  const bench = new Bench({ iterations, time: 0, warmup: false });
  const cpu: Record<string, number> = {};
  for (const { name, list } of lists) {
    let before = process.cpuUsage();
    const beforeAll = () => {
      before = process.cpuUsage();
    };
    const afterAll = () => {
      const { user, system } = process.cpuUsage(before);
      cpu[name] = user + system;
    };
    bench.add(name, () => Promise.all(Array.from({ length: inFlight }, list)), { beforeAll, afterAll, retainSamples: true });
  }
  await bench.run();
  return Object.fromEntries(
    bench.tasks.map(({ name, result }) => [
      name,
      { cpu: cpu[name] ?? Number.NaN, p50: 'latency' in result ? (result.latency.p50 ?? Number.NaN) : Number.NaN },
    ]),
  );
}

function ratios(name: string, rounds: readonly Record<string, Round>[]): CallCost {
  const of = (field: keyof Round) =>
    median(rounds.map((round) => (round[name]?.[field] ?? Number.NaN) / (round.fetch?.[field] ?? Number.NaN)));
  return { cpu: of('cpu'), p50: of('p50') };
}
