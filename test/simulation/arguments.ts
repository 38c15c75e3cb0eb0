import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import type { PetStoreClientOptions } from 'petstore-inventory';
import { shareOption } from '../../src/cli/option-values.ts';
import { UsageError } from '../../src/cli/usage-error.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { parsePlanLimits } from '../../src/options/client-options.ts';
import type { Settings } from './replay.ts';
import { drawStory, readStory, type Story } from './story.ts';

const USAGE = `Plays stories against the source, one for each seed, and prints those in which something was wrong:
  npm run simulate -- [--seeds 1-300] [--lanes 2] [--log]
  npm run simulate -- --story '{"seed":1,...}'
  npm run simulate -- --crashes small|all
  npm run simulate -- --breaks [--seeds 1-300]
Explores all states of the rules of leases:
  npm run simulate -- --leases small|all
Replays what a client recorded:
  npm run simulate -- --recording incident.jsonl [--plan pro|300/10000] [--share 0.5|50%|low:0.5] [--log]`;

const OPTIONS = {
  seeds: { type: 'string' },
  story: { type: 'string' },
  log: { type: 'boolean' },
  /** Puts known faults into the source, one at a time, and prints the seeds that find them. */
  breaks: { type: 'boolean' },
  /** Kills jobs at every step instead of playing seeds. */
  crashes: { type: 'string' },
  /** Explores the rules of leases instead of playing seeds. */
  leases: { type: 'string' },
  /** A file of `recordCalls` or `--record`. */
  recording: { type: 'string' },
  /** What the client of the recording should have had. */
  plan: { type: 'string' },
  share: { type: 'string' },
  lanes: { type: 'string' },
  /** Given to the processes that play. */
  lane: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Given = ReturnType<typeof parsed>;
type Option = keyof typeof OPTIONS;

/** The kinds of runs, and the options that each has beside its own. */
const RUNS: readonly (readonly [run: Option, others: readonly Option[]])[] = [
  ['recording', ['plan', 'share', 'log']],
  ['crashes', []],
  ['leases', []],
  ['breaks', ['seeds']],
  ['story', ['log']],
];
const OF_SEEDS: readonly Option[] = ['seeds', 'lanes', 'lane', 'log'];

/** Seeds from the first to the last. */
export interface Seeds {
  readonly first: number;
  readonly last: number;
}

/** What to do. */
export type Run =
  | { readonly kind: 'help'; readonly usage: string }
  | { readonly kind: 'recording'; readonly path: string; readonly settings: Settings; readonly hasLog: boolean }
  | { readonly kind: 'crashes'; readonly isWhole: boolean }
  | { readonly kind: 'leases'; readonly isWhole: boolean }
  | { readonly kind: 'breaks'; readonly seeds: Seeds }
  | { readonly kind: 'story'; readonly story: Story }
  | { readonly kind: 'seeds'; readonly seeds: Seeds; readonly lanes: number; readonly lane: number | undefined; readonly hasLog: boolean };

/** Reads the arguments of a run. @throws UsageError */
export function readArguments(argv: readonly string[]): Run {
  const given = parsed(argv);
  if (given.help) return { kind: 'help', usage: USAGE };
  refuseUnused(given);
  const { recording, crashes, leases, story, breaks, log: hasLog = false } = given;
  if (recording !== undefined) return { kind: 'recording', path: pathOf(recording), settings: settingsOf(given), hasLog };
  if (crashes !== undefined) return { kind: 'crashes', isWhole: isWhole('crashes', crashes) };
  if (leases !== undefined) return { kind: 'leases', isWhole: isWhole('leases', leases) };
  const seeds = seedsOf(given.seeds ?? '1-300');
  if (breaks) return { kind: 'breaks', seeds };
  if (story !== undefined) return { kind: 'story', story: storyOf(story) };
  return { kind: 'seeds', seeds, ...lanesOf(given, seeds), hasLog };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS }).values;
  } catch (error) {
    // The first sentence; those after it explain what positional arguments are.
    const [why = ''] = error instanceof Error ? error.message.split(/\.?\s*\n|\.\s/) : [];
    throw new UsageError(`Cannot simulate: ${why} (--help lists the options)`);
  }
}

/** Options that the run does not look at: whoever gave them expects something else. */
function refuseUnused(given: Given): void {
  const [run, others] = RUNS.find(([name]) => given[name] !== undefined) ?? [undefined, OF_SEEDS];
  for (const name of Object.keys(given)) {
    if (name === run || others.some((other) => other === name)) continue;
    const wanted = name === 'plan' || name === 'share' ? 'it needs --recording' : `it does not go with ${run ? `--${run}` : '--seeds'}`;
    throw new UsageError(`Cannot use --${name}: ${wanted}`);
  }
}

function seedsOf(text: string): Seeds {
  const [, from = '', to = from] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(text) ?? [];
  const seeds = { first: Number(from), last: Number(to) };
  if (from === '' || seeds.first > seeds.last) throw bad('seeds', text, 'a seed such as 7, or a range such as 1-300');
  return seeds;
}

function lanesOf({ lanes, lane }: Given, { first, last }: Seeds): { lanes: number; lane: number | undefined } {
  const most = last - first + 1;
  const count = wholeNumber('lanes', lanes ?? String(Math.min(2, availableParallelism())), 1);
  return { lanes: Math.min(count, most), lane: lane === undefined ? undefined : wholeNumber('lane', lane, 0) };
}

function wholeNumber(option: Option, text: string, least: number): number {
  if (/^\d{1,3}$/.test(text) && Number(text) >= least) return Number(text);
  throw bad(option, text, `a whole number from ${least} to 999`);
}

function isWhole(option: Option, text: string): boolean {
  if (text === 'small' || text === 'all') return text === 'all';
  throw bad(option, text, 'small or all');
}

function pathOf(text: string): string {
  if (text === '') throw bad('recording', text, 'the path of a file');
  return text;
}

function settingsOf({ plan, share }: Given): Settings {
  return { ...(plan !== undefined && { plan: planOf(plan) }), ...(share !== undefined && { share: shareOption(share) }) };
}

function planOf(text: string): NonNullable<PetStoreClientOptions['plan']> {
  const plan = (['free', 'pro', 'business', 'unlimited'] as const).find((name) => name === text) ?? parsePlanLimits(text);
  if (plan === undefined) throw bad('plan', text, 'free, pro, business, unlimited, or requests a minute and a day such as 300/10000');
  return plan;
}

/** A story as a run prints it, with the fields of every story. */
function storyOf(text: string): Story {
  const rule = 'a story as a run prints it';
  const story = parseJson(text);
  if (typeof story !== 'object' || story === null || Array.isArray(story)) throw bad('story', text, rule);
  for (const [field, value] of Object.entries(drawStory(1))) {
    if (value === undefined || field === 'store' || field === 'perDay') continue;
    const own: unknown = Reflect.get(story, field);
    if (typeof own !== typeof value || Array.isArray(own) !== Array.isArray(value)) throw bad('story', text, `${rule}, with \`${field}\``);
  }
  return readStory(text);
}

function bad(option: Option, text: string, rule: string): UsageError {
  return new UsageError(`Cannot use ${JSON.stringify(text.slice(0, 80))} as --${option}: it must be ${rule}`);
}
