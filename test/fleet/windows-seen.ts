import type { ServedSandbox } from '../../src/node/index.ts';

/** One window of the service, as it saw it. */
export interface SeenWindow {
  startsAtMs: number;
  admitted: number;
  refused: number;
  /** Admitted requests of each pet, which is one process's. */
  byPet: Record<string, number>;
}

/** The requests that a sandbox saw, by window of the clock. */
export function windowsSeen(sandbox: ServedSandbox<string>['sandbox'], windowMs: number): SeenWindow[] {
  const windows = new Map<number, SeenWindow>();
  for (const { atMs, status, petId } of sandbox.requests) {
    const startsAtMs = Math.floor(atMs / windowMs) * windowMs;
    const seen = windows.get(startsAtMs) ?? { startsAtMs, admitted: 0, refused: 0, byPet: {} };
    windows.set(startsAtMs, seen);
    if (status === 429) seen.refused++;
    else seen.admitted++;
    const pet = String(petId);
    if (status !== 429) seen.byPet[pet] = (seen.byPet[pet] ?? 0) + 1;
  }
  return [...windows.values()].sort((one, other) => one.startsAtMs - other.startsAtMs);
}
