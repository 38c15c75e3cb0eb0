// What a view takes beyond a stream of the same list: `npm run build && node test/bench/view.ts`. Each case in a process of its own, in
// interleaved rounds: the first list and the peak of memory; then, in the view's process, six lists of each in turns.
import { inProcess, median, startService } from './processes.ts';

interface Outcome {
  read: number;
  first: number;
  turns: Record<'stream' | 'view', number[]>;
  peakMb: number;
  heldMb: number;
  getNs?: number;
}

const CASES = [
  { name: '1,000,000 pets', items: 1_000_000, firstId: 1n },
  { name: '1,000,000 pets, every id beyond 2^53', items: 1_000_000, firstId: 9_007_199_254_740_993n },
  { name: '5,000,000 pets', items: 5_000_000, firstId: 1n },
] as const;
const ROUNDS = 5;

const service = await startService();
console.log('| | CPU / stream, first list | later lists, least | later lists, median | peak | above the stream | held | get |');
console.log('|---|---|---|---|---|---|---|---|');
for (const { name, items, firstId } of CASES) {
  const rounds: Record<'stream' | 'view', Outcome>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const [stream, view] = [await run('stream', items, firstId), await run('view', items, firstId)];
    rounds.push({ stream, view });
  }
  const of = (field: (round: Record<'stream' | 'view', Outcome>) => number) => median(rounds.map(field)).toFixed(0);
  const first = Math.min(...rounds.map(({ view }) => view.first)) / Math.min(...rounds.map(({ stream }) => stream.first));
  const turns = (way: 'stream' | 'view') => rounds.flatMap(({ view }) => view.turns[way]);
  const cpu = [first, Math.min(...turns('view')) / Math.min(...turns('stream')), median(turns('view')) / median(turns('stream'))];
  const peak = `${of(({ view }) => view.peakMb)} MB | ${of(({ view, stream }) => view.peakMb - stream.peakMb)} MB`;
  const held = `${of(({ view }) => view.heldMb)} MB | ${Math.min(...rounds.map(({ view }) => view.getNs ?? Number.NaN)).toFixed(0)} ns`;
  console.log(`| ${name} | ${cpu.map((ratio) => ratio.toFixed(2)).join(' | ')} | ${peak} | ${held} |`);
}
service.stop();

async function run(way: 'stream' | 'view', items: number, firstId: bigint): Promise<Outcome> {
  const outcome = await inProcess<Outcome>('view-case.ts', [way, service.baseUrl, `${items}`, `${firstId}`], ['--expose-gc']);
  if (outcome.read !== items) throw new Error(`${way} read ${outcome.read} of ${items} items`);
  return outcome;
}
