// One client in a process of its own: whenever it is told to, it makes calls for a while and says what one cost.
// `node call-case.ts NAME BASE_URL IN_FLIGHT`
import { Bench } from 'tinybench';
import { PEERS } from './peers.ts';
import type { Cost } from './per-call.ts';

const ROUND_MS = 600;

const [name = '', baseUrl = '', inFlight = '1'] = process.argv.slice(2);
const list = PEERS[name]?.({ baseUrl, fetch: globalThis.fetch });
if (!list) throw new Error(`there is no client named ${name}`);

async function measure(): Promise<Cost> {
  const bench = new Bench({ time: ROUND_MS, iterations: 1, warmup: false });
  const calls = Number(inFlight);
  bench.add(name, calls === 1 ? list : () => Promise.all(Array.from({ length: calls }, list)), { retainSamples: true });
  const before = process.cpuUsage();
  const [task] = await bench.run();
  const { user, system } = process.cpuUsage(before);
  if (!task || !('latency' in task.result)) throw new Error(`${name} could not be measured`);
  const { p50 = Number.NaN, samplesCount } = task.result.latency;
  return { cpu: (user + system) / (samplesCount * calls), p50 };
}

process.on('message', async () => process.send?.(await measure()));
process.on('disconnect', () => process.exit(0));
