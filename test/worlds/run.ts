// Plays random worlds against the built package, and prints those in which something went wrong:
// npm run worlds -- [--seeds 1-300] [--world '{"seed":1,...}']
import { parseArgs } from 'node:util';
import { faultsOf, summarize } from './judge.ts';
import { Player } from './play.ts';
import { playWorlds, rerunOf } from './play-worlds.ts';
import { World } from './world.ts';

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '1-300' }, world: { type: 'string' } } });

async function playSeeds(player: Player): Promise<boolean> {
  const [first = 1, last = first] = values.seeds.split('-').map(Number);
  const outcomes = await playWorlds(player, { first, last });
  for (const outcome of outcomes.filter((each) => faultsOf(each).length > 0)) console.log(rerunOf(outcome));
  const { lines, isGood } = summarize(outcomes);
  console.log(lines.join('\n'));
  return isGood;
}

async function playOne(player: Player, text: string): Promise<boolean> {
  const outcome = await player.play(World.parse(JSON.parse(text)));
  const faults = faultsOf(outcome);
  console.log([...outcome.ledger, ...outcome.failed, faults.length > 0 ? faults.join(', ') : 'nothing went wrong'].join('\n'));
  return faults.length === 0;
}

const player = new Player();
const isGood = values.world === undefined ? await playSeeds(player) : await playOne(player, values.world);
player.close();
if (!isGood) process.exitCode = 1;
