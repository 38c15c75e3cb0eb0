import { afterAll, beforeAll, expect, test } from 'vitest';
import { paceOf, type Seen } from '../worlds/pace.ts';
import { type Outcome, Simulator } from './play.ts';
import { drawStory, type Story } from './story.ts';

const FIRST_SEED = 2001;
const STORIES = 60;
/** A process that waits for a slot asks the store again and again. */
const GROUP_MS = 1_000;

let simulator: Simulator;
beforeAll(async () => {
  simulator = await Simulator.load();
});
afterAll(() => simulator.close());

/** Describes a story to those who review a change of its pace. */
function titleOf({ seed, service, perMinute, processes, store }: Story): string {
  return [
    `seed ${seed}`,
    service.policy,
    `${perMinute} a minute`,
    `${processes.length} processes`,
    store?.isCheap ? 'a cheap store' : 'a store',
  ].join(', ');
}

/** What a process did that its peers, the service or its callers could see. */
const SEEN = [
  /^(p\d) sends \S+ (GET|PATCH)/,
  /^store (p\d) wants \d+ returns \d+: (granted \d+ \w+)/,
  /^(p\d) \w+ \d+ (ends: (?!done).*)/,
  /^(p\d) (starts|is killed|loses its power)/,
];

function seenOf({ log }: Outcome, process: string): Seen[] {
  return log.flatMap((line) => {
    const [, seconds = '', text = ''] = /^ *(\S+) {2}(.*)/.exec(line) ?? [];
    const [, name, what] = SEEN.map((pattern) => pattern.exec(text)).find((found) => found !== null) ?? [];
    return name === process && what !== undefined ? [{ atMs: Number(seconds) * 1_000, what }] : [];
  });
}

test('fleets send and lease at the recorded times in 60 stories; `vitest -u` accepts a change that was reviewed', async () => {
  const lines: string[] = [];
  const stories = Array.from({ length: 4 * STORIES }, (_, index) => drawStory(FIRST_SEED + index)).filter(({ store }) => store);
  for (const story of stories.slice(0, STORIES)) {
    const outcome = await simulator.play(story);
    lines.push(titleOf(story), ...story.processes.map(({ name }) => `  ${name}: ${paceOf(seenOf(outcome, name), GROUP_MS)}`));
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('paces.txt');
});
