import { drawWorld } from './draw.ts';
import { faultsOf } from './judge.ts';
import type { Outcome, Player } from './play.ts';

/** Plays the worlds of these seeds. */
export async function playWorlds(player: Player, { first, last }: { first: number; last: number }): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let seed = first; seed <= last; seed++) outcomes.push(await player.play(drawWorld(seed)));
  return outcomes;
}

/** What went wrong in a world, and how to play it again. */
export function rerunOf(outcome: Outcome): string {
  const { world } = outcome;
  return `seed ${world.seed}: ${faultsOf(outcome).join(', ')}\n  npm run worlds -- --world '${JSON.stringify(world)}'`;
}
