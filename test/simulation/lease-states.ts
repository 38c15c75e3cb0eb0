import { createHash } from 'node:crypto';
import { type Exchange, keyOf, LeaseModel, type Rules, type Scope, type State, type Transition, WINDOW_BEGINS_MS } from './lease-model.ts';

/** How many windows a process may wait: requests that are late may use one up, and a probe without an answer another one. */
const WINDOWS_TO_WAIT = 3;
const MOST_WRONG = 3;

/** What a test explores. */
export const SMALL_SCOPES: readonly Scope[] = [
  { processes: 3, limit: 2, turns: 1, knowsPlan: false },
  { processes: 2, limit: 3, turns: 2, knowsPlan: false },
  { processes: 2, limit: 2, turns: 1, knowsPlan: true },
];

/** What is explored in an hour, the largest last. */
export const ALL_SCOPES: readonly Scope[] = [
  ...[1, 2, 3, 4].map((limit) => ({ processes: 3, limit, turns: 1, knowsPlan: true })),
  ...[1, 2, 3].map((turns) => ({ processes: 2, limit: 2, turns, knowsPlan: true })),
  ...[1, 2, 3].flatMap((turns) => [1, 2, 3, 4, 5, 6].map((limit) => ({ processes: 3, limit, turns, knowsPlan: false }))),
];

/** What was found. */
export interface Explored {
  readonly scope: Scope;
  readonly states: number;
  readonly transitions: number;
  /** Different requests to the store, with the record that they met. */
  readonly exchanges: number;
  /** What must not be, each with the shortest way to it where ways are kept. */
  readonly wrong: readonly string[];
}

interface Options {
  readonly rules: Rules;
  /** Given each exchange that is new. */
  readonly onExchange?: (exchange: Exchange) => Promise<void>;
}

/** Explores all that processes, a store and the service can come to, breadth first, until no new state appears. */
export async function exploreLeases(scope: Scope, { rules, onExchange }: Options): Promise<Explored> {
  const model = new LeaseModel(scope, rules);
  const first = model.normalize(model.first());
  const found = new Set([keyOf(first)]);
  const exchanges = new Set<string>();
  const wrong: string[] = [];
  let transitions = 0;
  for (let level = [first]; level.length > 0 && wrong.length < MOST_WRONG; ) {
    const next: State[] = [];
    for (const state of level) {
      for (const transition of model.next(state)) {
        transitions += 1;
        const { exchange } = transition;
        wrong.push(...transition.wrong.map((what) => describe(what, { state, transition })));
        if (exchange && isNew(exchanges, hashOf(exchange))) await onExchange?.(exchange);
        const after = model.normalize(transition.state);
        if (!isNew(found, keyOf(after))) continue;
        next.push(after);
        wrong.push(...starving(model, { scope, state: after }));
      }
    }
    level = next;
  }
  return { scope, states: found.size, transitions, exchanges: exchanges.size, wrong: wrong.slice(0, MOST_WRONG) };
}

/** Every way on passes the beginning of a window, so it is enough to go on from there, in every order of the processes. */
function starving(model: LeaseModel, { scope, state }: { scope: Scope; state: State }): string[] {
  if (state.nowMs !== WINDOW_BEGINS_MS || state.used > 0 || state.granted > 0) return [];
  return permutations([...state.members.keys()]).flatMap((order) => {
    const served = model.servedFrom(state, { order, windows: WINDOWS_TO_WAIT });
    // One slot goes to the probe, whose process may have a second one before the others are known.
    const due = Math.max(1, Math.min(scope.processes, scope.limit - 1));
    return served.size >= due ? [] : [`${served.size} of ${due} processes get a slot from ${JSON.stringify(state)} in the order ${order}`];
  });
}

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}

function isNew(known: Set<string>, key: string): boolean {
  return known.size < known.add(key).size;
}

function hashOf({ before, request, nowMs }: Exchange): string {
  return createHash('sha1')
    .update(JSON.stringify([before, request, nowMs]))
    .digest('base64');
}

function describe(what: string, { state, transition }: { state: State; transition: Transition }): string {
  return `${what}: ${transition.name}, from ${JSON.stringify(state)}`;
}
