import type { WantedEntry } from 'petstore-inventory';
import type { Outcome, Simulator } from './play.ts';
import { PETS, type ProcessSettings, type Story } from './story.ts';

type Death = NonNullable<ProcessSettings['deaths']>[number];

/** Which jobs are killed, and how often each. */
interface Part {
  readonly name: string;
  readonly changes: number;
  readonly workers: number;
  readonly deaths: 1 | 2;
}

const SMALL: readonly Part[] = [
  { name: 'a job of 20 changes, killed once', changes: 20, workers: 1, deaths: 1 },
  { name: 'a job of 20 changes with two workers, killed once', changes: 20, workers: 2, deaths: 1 },
  { name: 'a job of 2 changes, killed twice', changes: 2, workers: 1, deaths: 2 },
];
const REST: readonly Part[] = [
  { name: 'a job of 5 changes, killed twice', changes: 5, workers: 1, deaths: 2 },
  { name: 'a job of 5 changes with two workers, killed twice', changes: 5, workers: 2, deaths: 2 },
  { name: 'a job of 20 changes, killed twice', changes: 20, workers: 1, deaths: 2 },
];

const FIRST_PET = 21;
const FAILING = FIRST_PET + 1;

/** In turns absolute, refused by the service, relative, and missing. */
function wantedOf(changes: number): WantedEntry[] {
  return Array.from({ length: changes }, (_, index) => {
    const petId = FIRST_PET + index;
    if (index % 4 === 3) return { petId: index % 8 === 3 ? PETS + petId : petId, adjust: -1 };
    return index % 2 === 0 ? { petId, adjust: index + 1 } : { petId, quantity: 50 + index };
  });
}

function storyOf({ changes, workers }: Part, deaths: readonly Death[]): Story {
  const job = { id: 1, atMs: 0, kind: 'job', wanted: wantedOf(changes), concurrency: workers } as const;
  return {
    seed: 1,
    startsAtMs: Date.UTC(2026, 10, 21, 10),
    perMinute: 10_000,
    service: { policy: 'fixed-clock', ban: false },
    outages: [],
    failing: [FAILING],
    network: { seed: 1, latencyMs: 4, tail: 0, losses: 0, cuts: [] },
    store: undefined,
    processes: [
      {
        name: 'p1',
        clock: { aheadMs: 0, rate: 1, steps: [] },
        disk: { writeMs: 1, flushMs: 2, full: undefined },
        client: { plan: { requestsPerMinute: 10_000 } },
        view: { maxAgeMs: 'quota', maxStaleMs: 0 },
        crashes: [],
        deaths,
        acts: [job],
      },
    ],
  };
}

/** Ends lives at every step, by a kill and by a loss of power; two lives at every pair of steps. */
async function* runsOf(simulator: Simulator, part: Part): AsyncGenerator<Outcome> {
  const play = (...deaths: Death[]) => simulator.play(storyOf(part, deaths));
  const { steps } = await play();
  for (let atStep = 1; atStep <= steps; atStep++)
    for (const isPower of [false, true]) {
      if (part.deaths === 1) yield play({ atStep, isPower });
      else
        for (let again = 1, deaths = 2; deaths === 2; again++) {
          const outcome = await play({ atStep, isPower }, { atStep: again, isPower });
          yield outcome;
          // If the second life ended before this step, it would before any later one.
          deaths = outcome.deaths;
        }
    }
}

/** Kills jobs at every step; tells how many runs each part took, and gives those in which something was wrong. */
export async function playCrashes(
  simulator: Simulator,
  { isWhole, tell }: { isWhole: boolean; tell: (line: string) => void },
): Promise<Outcome[]> {
  const wrong: Outcome[] = [];
  for (const part of isWhole ? [...SMALL, ...REST] : SMALL) {
    let runs = 0;
    for await (const outcome of runsOf(simulator, part)) {
      runs += 1;
      if (outcome.violations.length > 0) wrong.push(outcome);
    }
    tell(`${part.name}: ${runs} runs`);
  }
  return wrong;
}
