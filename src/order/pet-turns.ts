import { type Deferred, defer } from '../clock/deferred.ts';
import { LifeSign } from '../clock/life-sign.ts';
import type { EndSignal } from '../clock/light-signal.ts';
import { isRequestBound } from '../clock/request-bound.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import type { PetId } from '../contract/models.ts';
import { sharedTable } from '../shared-table.ts';

interface TurnOptions {
  signal: EndSignal | undefined;
  /** A low task does not tell those ahead of it that it waits. */
  isLow?: boolean;
  /** Called when a task that is not low joins the line behind it. */
  onAwaited?: () => void;
}

/** A task in the line of its pet. */
interface Turn {
  readonly onAwaited: (() => void) | undefined;
  /** Undefined where it need not be known whether the task's incoming request has ended. */
  readonly lifeSign: LifeSign | undefined;
  /** Resolves when its turn comes; undefined if it need not wait. */
  readonly begin: Deferred<void> | undefined;
}

const turnsOfClients = sharedTable<PetTurns>('turns.1');

/**
 * The tasks of one client that compute a pet's quantity from the one before: those of one pet run one after the other, since each has to
 * know what the one before it set. Tasks of different pets do not wait for each other.
 */
export class PetTurns {
  readonly #lines = new Map<string, Turn[]>();

  /** The turns of a client, for all its views and jobs. */
  static of(client: object): PetTurns {
    const turns = turnsOfClients.get(client) ?? new PetTurns();
    turnsOfClients.set(client, turns);
    return turns;
  }

  /** Runs a task in its turn. If the signal aborts while it waits, it rejects with the signal's reason; later tasks keep their order. */
  async run<T>(petId: PetId, { signal, isLow, onAwaited }: TurnOptions, work: () => Promise<T>): Promise<T> {
    const pet = String(petId);
    const line = this.#lines.get(pet) ?? [];
    this.#lines.set(pet, line);
    const begin = line.length === 0 ? undefined : defer<void>(() => skipGone(line));
    if (!isLow) for (const ahead of line) ahead.onAwaited?.();
    const turn: Turn = { onAwaited, begin, lifeSign: isRequestBound() ? new LifeSign() : undefined };
    line.push(turn);
    try {
      const turnComes = begin?.promise ?? Promise.resolve();
      await (signal ? untilAborted(turnComes, signal) : turnComes);
      return await work();
    } finally {
      turn.lifeSign?.stop();
      this.#leave(pet, line, turn);
    }
  }

  #leave(pet: string, line: Turn[], turn: Turn): void {
    // Ends its timer, if it has one.
    turn.begin?.resolve();
    const at = line.indexOf(turn);
    // Its incoming request counted as gone, and others have taken its place.
    if (at < 0) return;
    line.splice(at, 1);
    if (at === 0) line[0]?.begin?.resolve();
    if (line.length === 0) this.#lines.delete(pet);
  }
}

/** Called by each waiting task in workerd, since the first one may never end. */
function skipGone(line: Turn[]): void {
  while (line[0]?.lifeSign?.isGone) line.shift();
  line[0]?.begin?.resolve();
}
