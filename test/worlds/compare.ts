import { DAY_MS } from '../../src/contract/plans.ts';
import { drawWorld } from './draw.ts';
import { PEERS } from './peers.ts';
import type { Connect, Outcome, Player } from './play.ts';
import { limitsOf, type World } from './world.ts';

/** How one client fared in all worlds, as they are and where no key is ever banned. */
export interface Fared {
  readonly name: string;
  readonly outcomes: readonly Outcome[];
  readonly withoutBans: readonly Outcome[];
}

interface Seeds {
  readonly first: number;
  readonly last: number;
}

/** Plays the same worlds with each client. */
export async function compareInWorlds(player: Player, seeds: Seeds): Promise<Fared[]> {
  const fared: Fared[] = [];
  for (const [name, connect] of Object.entries(PEERS)) {
    const outcomes = await playAll(player, { connect, seeds, change: {} });
    const withoutBans = await playAll(player, { connect, seeds, change: { ban: false } });
    fared.push({ name, outcomes, withoutBans });
  }
  return fared;
}

async function playAll(
  player: Player,
  { connect, seeds, change }: { connect: Connect; seeds: Seeds; change: Partial<World['service']> },
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let seed = seeds.first; seed <= seeds.last; seed++) {
    const world = forAnyClient(drawWorld(seed));
    outcomes.push(await player.play({ ...world, service: { ...world.service, ...change } }, connect));
  }
  return outcomes;
}

/** Ours knows its plan and waits as long as the others do; what they have no setting for is left out. */
function forAnyClient(world: World): World {
  return { ...world, client: { plan: limitsOf(world.plan), maxWaitMs: DAY_MS } };
}

/** A Markdown table, and over how many worlds times are compared: those in which every client did all of its calls. */
export function tableOf(fared: readonly Fared[]): { table: string; timed: number } {
  const worlds = fared[0]?.withoutBans.map((_, index) => index) ?? [];
  const timed = worlds.filter((index) => fared.every(({ withoutBans }) => isTimed(withoutBans[index])));
  const rows = fared.map((one) => rowOf(one, timed));
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = [line(HEAD), line(HEAD.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
  return { table, timed: timed.length };
}

const HEAD = [
  '',
  '429s',
  'sent too early',
  'worlds with a ban',
  'calls that succeeded',
  'the same without bans',
  'time without bans, median',
  'time without bans, p95',
];

function isTimed(outcome: Outcome | undefined): boolean {
  return outcome !== undefined && outcome.succeeded + outcome.aborted === outcome.calls && !outcome.isDaySpent;
}

function rowOf({ name, outcomes, withoutBans }: Fared, timed: readonly number[]): string[] {
  const sum = (figure: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + figure(outcome), 0);
  const counts = [sum(({ rateLimited }) => rateLimited), sum(({ early }) => early), sum(({ bans }) => Math.sign(bans))];
  const slowness = timed.map((index) => withoutBans[index]?.slowness ?? Number.NaN).sort((a, b) => a - b);
  const times = [0.5, 0.95].map((part) => (slowness[Math.floor(slowness.length * part)] ?? Number.NaN).toFixed(2));
  return [name, ...counts.map((count) => count.toLocaleString('en')), ...[outcomes, withoutBans].map(successesOf), ...times];
}

/** Of the calls that were not aborted. */
function successesOf(outcomes: readonly Outcome[]): string {
  const sum = (figure: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + figure(outcome), 0);
  return `${((100 * sum(({ succeeded }) => succeeded)) / sum(({ calls, aborted }) => calls - aborted)).toFixed(1)} %`;
}
