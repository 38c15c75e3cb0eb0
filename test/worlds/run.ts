// Plays random worlds against the built package, and prints those in which something went wrong:
// npm run worlds -- [--seeds 1-300] [--world '{"seed":1,...}']
// Or plays them with other clients as well, and prints how each fared:
// npm run worlds -- --peers [--seeds 1-300]
import { parseArgs } from 'node:util';
import { compareInWorlds, tableOf } from './compare.ts';
import { faultsOf, summarize } from './judge.ts';
import { Player } from './play.ts';
import { playWorlds, rerunOf } from './play-worlds.ts';
import { World } from './world.ts';

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1-300' }, world: { type: 'string' }, peers: { type: 'boolean', default: false } },
});
const [first = 1, last = first] = values.seeds.split('-').map(Number);

async function playSeeds(player: Player): Promise<boolean> {
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

async function playPeers(player: Player): Promise<boolean> {
  const { table, timed } = tableOf(await compareInWorlds(player, { first, last }));
  console.log(
    `${table}\n\nTimes against the ideal in the ${timed} of ${1 + last - first} worlds in which every client did all of its calls`,
  );
  return true;
}

function playAsAsked(player: Player): Promise<boolean> {
  if (values.peers) return playPeers(player);
  return values.world === undefined ? playSeeds(player) : playOne(player, values.world);
}

const player = new Player();
const isGood = await playAsAsked(player);
player.close();
if (!isGood) process.exitCode = 1;
