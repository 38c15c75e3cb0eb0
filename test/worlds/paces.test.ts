import { afterAll, expect, test } from 'vitest';
import { drawWorld } from './draw.ts';
import { type Outcome, Player } from './play.ts';
import type { World } from './world.ts';

const SEEDS = { first: 2001, last: 2150 };
/** Requests closer together than this, with the same answer, are written as one group. */
const GROUP_MS = 100;

const player = new Player();
afterAll(() => player.close());

/** Describes a world to those who review a change of its pace. */
function titleOf({ seed, plan, service, load, clients, odd, client }: World): string {
  const limits = [plan.requestsPerMinute, plan.requestsPerDay].filter(Boolean).join('/');
  const known = client.plan === undefined ? 'plan not told' : `told ${JSON.stringify(client.plan)}`;
  const { kind, calls } = load;
  return [`seed ${seed}`, service.policy, limits, known, `${calls} calls as ${kind}`, `${clients} clients`, ...odd].join(', ');
}

/** When the client's requests reached the service, in seconds, and how many had which status. */
function paceOf({ ledger }: Outcome): string {
  const groups: { atMs: number; status: string; count: number }[] = [];
  for (const line of ledger.filter((each) => !each.includes('another program'))) {
    const [seconds = '', , status = ''] = line.trim().split(/\s+/);
    const atMs = Number(seconds) * 1_000;
    const last = groups.at(-1);
    if (last && last.status === status && atMs - last.atMs < GROUP_MS) last.count += 1;
    else groups.push({ atMs, status, count: 1 });
  }
  return groups.map(({ atMs, status, count }) => `${(atMs / 1_000).toFixed(3)}: ${count} x ${status}`).join('; ');
}

test('requests leave at the recorded times in 150 random worlds; `vitest -u` accepts a change that was reviewed', async () => {
  const lines: string[] = [];
  for (let seed = SEEDS.first; seed <= SEEDS.last; seed++) {
    const outcome = await player.play(drawWorld(seed));
    lines.push(titleOf(outcome.world), `  ${paceOf(outcome)}`);
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('paces.txt');
});
