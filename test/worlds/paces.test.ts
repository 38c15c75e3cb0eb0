import { afterAll, expect, test } from 'vitest';
import { drawWorld } from './draw.ts';
import { paceOf, type Seen } from './pace.ts';
import { type Outcome, Player } from './play.ts';
import type { World } from './world.ts';

const SEEDS = { first: 2001, last: 2150 };

const player = new Player();
afterAll(() => player.close());

/** Describes a world to those who review a change of its pace. */
function titleOf({ seed, plan, service, load, clients, odd, client }: World): string {
  const limits = [plan.requestsPerMinute, plan.requestsPerDay].filter(Boolean).join('/');
  const known = client.plan === undefined ? 'plan not told' : `told ${JSON.stringify(client.plan)}`;
  const { kind, calls } = load;
  return [`seed ${seed}`, service.policy, limits, known, `${calls} calls as ${kind}`, `${clients} clients`, ...odd].join(', ');
}

/** When the client's requests reached the service, and how many had which status. */
function requestsOf({ ledger }: Outcome): Seen[] {
  return ledger
    .filter((line) => !line.includes('another program'))
    .map((line) => {
      const [seconds = '', , status = ''] = line.trim().split(/\s+/);
      return { atMs: Number(seconds) * 1_000, what: status };
    });
}

test('requests leave at the recorded times in 150 random worlds; `vitest -u` accepts a change that was reviewed', async () => {
  const lines: string[] = [];
  for (let seed = SEEDS.first; seed <= SEEDS.last; seed++) {
    const outcome = await player.play(drawWorld(seed));
    lines.push(titleOf(outcome.world), `  ${paceOf(requestsOf(outcome))}`);
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('paces.txt');
});
