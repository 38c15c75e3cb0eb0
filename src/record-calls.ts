import { checkClient } from './api.ts';
import type { PetStoreClient } from './client.ts';
import { monotonicMs } from './clock/monotonic.ts';
import type { Int64 } from './contract/models.ts';
import { isPetStoreError, type RateLimit } from './errors.ts';
import type { CallEvent, ClientEvents } from './events.ts';
import { hidingKey } from './hiding-key.ts';
import { checkNames, functionOption, numberOption } from './options/rules.ts';
import { unharmed } from './thrown.ts';
import { VERSION } from './version.ts';

/**
 * How a recording is kept.
 *
 * @example
 * const lines: string[] = [];
 * const options: RecordOptions = { write: (line) => lines.push(line), latest: 0 };
 * recordCalls(petstore, options);
 * await petstore.listInventory();
 * console.log(lines.length); // → 5
 */
export interface RecordOptions {
  /** Gets each line at once, with its line break, to write it to a file. Errors of this function are ignored. @default none */
  write?: ((line: string) => unknown) | undefined;
  /** How many of the latest lines `text()` gives after the first line, an integer; 0 keeps none. @default 100000 */
  latest?: number | undefined;
}

/**
 * A recording of what a client does, until it is stopped.
 *
 * @example
 * const recording: CallRecording = recordCalls(petstore);
 * await petstore.listInventory();
 * recording.stop();
 * await petstore.listInventory();
 * console.log(recording.text().split('\n').filter((line) => line.includes('"request"')).length); // → 1
 */
export interface CallRecording extends Disposable {
  /** The recording so far, as JSON Lines. */
  text(): string;
  /** Ends the recording; `text()` then stays the same. */
  stop(): void;
}

const LATEST = 100_000;

/**
 * Records what a client does, to look into an incident or to replay it: instants, operations, statuses, limit headers and waits, as JSON
 * Lines. It contains neither the key nor the address, and no id, quantity, path or text of the service: calls and pets are numbered. Calls
 * that are already under way are left out.
 *
 * @throws InvalidArgumentError for a value that is not a client; ConfigurationError for an option that is unknown or bad
 * @example
 * const recording = recordCalls(petstore);
 * await petstore.updateInventory(1, { quantity: 12 });
 * const [first, second] = recording.text().split('\n').map((line) => line && JSON.parse(line));
 * console.log(first.format, second.event, second.operation); // → petstore-recording/1 started updateInventory
 */
export function recordCalls<Ids extends Int64>(client: PetStoreClient<Ids>, options: RecordOptions = {}): CallRecording {
  checkClient(client, ['on', 'toJSON']);
  hidingKey(client, () => checkOptions(options));
  const lines = new LatestLines(client.toJSON().plan, options);
  const calls = new CallsUnderWay();
  const stops = [
    client.on('started', (event) => lines.add('started', { ...calls.begin(event), operation: event.operation })),
    ...follow(client, (name, event, told) => {
      if (calls.has(event)) lines.add(name, { call: event.callId, attempt: event.attempt, ...told });
    }),
    client.on('settled', (event) => {
      if (calls.end(event)) lines.add('settled', { call: event.callId, attempt: event.attempt, ...endOf(event) });
    }),
  ];
  const stop = () => {
    for (const end of stops) end();
  };
  return { text: () => lines.text(), stop, [Symbol.dispose]: stop };
}

function checkOptions(options: RecordOptions): void {
  checkNames(options, ['latest', 'write']);
  numberOption('latest', options.latest, LATEST, { min: 0, integer: true });
  functionOption('write', options.write);
}

type Note = (name: keyof ClientEvents, event: CallEvent, told: object) => void;

/** Records the events between the beginning and the end of a call. */
function follow<Ids extends Int64>(client: PetStoreClient<Ids>, note: Note): (() => void)[] {
  return [
    client.on('request', (event) => note('request', event, {})),
    client.on('response', (event) => note('response', event, answerOf(event))),
    client.on('retry', (event) => note('retry', event, { delayMs: event.delayMs, ...failureOf(event.error) })),
    client.on('wait', (event) => note('wait', event, { reason: event.reason, ms: event.ms })),
    client.on('gate', (event) => note('gate', event, { state: event.state, untilMs: event.until?.getTime() })),
  ];
}

function answerOf({ status, ms, date, rateLimit }: ClientEvents['response']): object {
  return { status, ms, dateMs: date?.getTime(), rateLimit: rateLimit && limitOf(rateLimit) };
}

function limitOf({ limit, remaining, resetAt }: RateLimit): object {
  return { limit, remaining, resetAtMs: resetAt.getTime() };
}

function endOf({ outcome, ms, supersededBy, ...rest }: ClientEvents['settled']): object {
  return { outcome, ms, supersededBy, ...('error' in rest && failureOf(rest.error)) };
}

/** A call that rejects with an error of another kind was aborted. Codes and messages are left out: they are text of the service. */
function failureOf(error: unknown): object {
  return isPetStoreError(error) ? { kind: error.kind, retryAfterMs: error.retryAfterMs } : { kind: 'abort' };
}

/** The recorded calls. Numbers each pet when an update of it begins, and forgets the number when its last update has ended. */
class CallsUnderWay {
  readonly #petOfCall = new Map<number, string | undefined>();
  readonly #pets = new Map<string, { number: number; calls: number }>();
  #lastPet = 0;

  begin({ callId, petId }: CallEvent): { call: number; pet?: number } {
    // The same for a number and a bigint, since one pet may be given as either.
    const key = petId === undefined ? undefined : String(petId);
    this.#petOfCall.set(callId, key);
    if (key === undefined) return { call: callId };
    const pet = this.#pets.get(key) ?? { number: ++this.#lastPet, calls: 0 };
    pet.calls += 1;
    this.#pets.set(key, pet);
    return { call: callId, pet: pet.number };
  }

  has({ callId }: CallEvent): boolean {
    return this.#petOfCall.has(callId);
  }

  /** Returns whether the beginning of the call was recorded. */
  end({ callId }: CallEvent): boolean {
    const key = this.#petOfCall.get(callId);
    const pet = key === undefined ? undefined : this.#pets.get(key);
    if (pet) pet.calls -= 1;
    if (key !== undefined && pet?.calls === 0) this.#pets.delete(key);
    return this.#petOfCall.delete(callId);
  }
}

class LatestLines {
  readonly #write: ((line: string) => unknown) | undefined;
  readonly #latest: number;
  readonly #first: string;
  readonly #lines: string[] = [];
  // Instants come from the monotonic clock, since the machine's clock may be set during the recording.
  readonly #aheadMs = Date.now() - monotonicMs();

  constructor(plan: unknown, { write, latest = LATEST }: RecordOptions) {
    this.#write = write;
    this.#latest = latest;
    this.#first = `${JSON.stringify({ format: 'petstore-recording/1', version: VERSION, plan, atMs: this.#nowMs() })}\n`;
    unharmed(() => this.#write?.(this.#first));
  }

  add(event: keyof ClientEvents, told: object): void {
    const line = `${JSON.stringify({ atMs: this.#nowMs(), event, ...told })}\n`;
    if (this.#latest > 0) this.#keep(line);
    unharmed(() => this.#write?.(line));
  }

  text(): string {
    return [this.#first, ...this.#lines.slice(-this.#latest)].join('');
  }

  /** Drops old lines in batches: to drop one at a time would move the whole array for every line. */
  #keep(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length >= this.#latest * 1.25) this.#lines.splice(0, this.#lines.length - this.#latest);
  }

  #nowMs(): number {
    return Math.round(this.#aheadMs + monotonicMs());
  }
}
