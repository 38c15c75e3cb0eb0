import type { Simulator } from './play.ts';
import type { ProcessSettings, Story } from './story.ts';

/** Ways to make a story smaller or plainer, the largest first. */
function* smaller(story: Story): Generator<Story> {
  const { processes } = story;
  for (const process of processes) if (processes.length > 1) yield { ...story, processes: processes.filter((other) => other !== process) };
  for (const process of processes) for (const less of smallerProcesses(process)) yield withProcess(story, process, less);
  yield { ...story, outages: [] };
  yield { ...story, failing: [] };
  yield { ...story, service: { policy: 'fixed-clock', ban: false } };
  for (const name of Object.keys(story.service)) yield { ...story, service: without(story.service, name) };
  yield { ...story, network: { ...story.network, losses: 0 } };
  yield { ...story, network: { ...story.network, tail: 0 } };
  yield { ...story, network: { ...story.network, cuts: [] } };
  yield* smallerStores(story);
}

function* smallerStores(story: Story): Generator<Story> {
  const { store } = story;
  if (!store) return;
  yield { ...story, store: undefined };
  yield { ...story, store: { ...store, stalls: [], emptyAtMs: [], failovers: [] } };
  yield { ...story, store: { ...store, stalls: [] } };
  yield { ...story, store: { ...store, emptyAtMs: [] } };
  yield { ...story, store: { ...store, failovers: [] } };
}

function* smallerProcesses(process: ProcessSettings): Generator<ProcessSettings> {
  const { acts, crashes, client, clock, disk } = process;
  const half = Math.ceil(acts.length / 2);
  if (acts.length > 2) yield { ...process, acts: acts.slice(half) };
  if (acts.length > 2) yield { ...process, acts: acts.slice(0, half) };
  for (const act of acts) yield { ...process, acts: acts.filter((other) => other !== act) };
  for (const crash of crashes) yield { ...process, crashes: crashes.filter((other) => other !== crash) };
  for (const name of Object.keys(client)) yield { ...process, client: without(client, name) };
  yield { ...process, clock: { aheadMs: 0, rate: 1, steps: [] } };
  yield { ...process, clock: { ...clock, steps: [] } };
  yield { ...process, disk: { writeMs: 0, flushMs: 0, full: undefined } };
  yield { ...process, disk: { ...disk, full: undefined } };
  for (const act of acts) {
    if ('options' in act) yield { ...process, acts: acts.map((other) => (other === act ? { ...act, options: {} } : other)) };
    if (act.abortAfterMs !== undefined && act.kind !== 'changes')
      yield { ...process, acts: acts.map((other) => (other === act ? { ...act, abortAfterMs: undefined } : other)) };
  }
}

function withProcess(story: Story, process: ProcessSettings, less: ProcessSettings): Story {
  return { ...story, processes: story.processes.map((other) => (other === process ? less : other)) };
}

function without<T extends object>(from: T, name: string): T {
  const rest = { ...from };
  Reflect.deleteProperty(rest, name);
  return rest;
}

/** Plays ever smaller stories in which the same truth does not hold, until nothing more can be left out. */
export async function shrink(
  simulator: Simulator,
  story: Story,
  { truth, mostPlays = 600 }: { truth: string; mostPlays?: number },
): Promise<Story> {
  let plays = 0;
  let smallest = story;
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const less of smaller(smallest)) {
      if (plays >= mostPlays) return smallest;
      if (JSON.stringify(less) === JSON.stringify(smallest)) continue;
      plays += 1;
      const { violations } = await simulator.play(less);
      if (!violations.some((violation) => violation.truth === truth)) continue;
      smallest = less;
      isSmaller = true;
      break;
    }
  }
  return smallest;
}
