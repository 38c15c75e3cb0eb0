import type { PetStoreClient, PetStoreClientOptions } from 'petstore-inventory';
import { seeded } from '../worlds/random.ts';
import { VirtualTime } from '../worlds/virtual-time.ts';
import { isPost, type Shown, settingsShownBy } from './call-settings.ts';
import type { Counted } from './counted.ts';
import { loadProgram, type Program, type Surroundings } from './program.ts';
import { CALL_HEADER, petIdOf, RecordedService } from './recorded-service.ts';
import { type RecordedCall, type Recording, readRecording } from './recording.ts';

const ADDRESS = { apiKey: 'psk_replay', baseUrl: 'https://recorded.example/v1' };
/** How long a replay may take beyond the recording, and how much it may do. */
const LONGEST_AFTER_MS = 30 * 3_600_000;
const MOST_TIMERS = 5_000_000;

/** What is other than it was. */
export type Settings = Pick<PetStoreClientOptions, 'plan' | 'share'>;

/** What a replay came to. */
export interface Replayed {
  readonly settings: Settings;
  /** The service as it was recognised. */
  readonly service: Counted;
  /** The recording of the replay. */
  readonly text: string;
  readonly now: Recording;
}

/** Lets today's code make the calls of a recording against what the service did, in virtual time. @throws Error */
export async function replay(recording: Recording, settings: Settings = {}): Promise<Replayed> {
  const start = await loadProgram();
  const time = new VirtualTime();
  const restore = time.install();
  try {
    time.begin(recording.beganAtMs, seeded(1));
    const service = new RecordedService(recording, time);
    const text = await new Caller(recording, { time, program: start(surroundingsOf(time)), service, settings }).run();
    return { settings, service: service.counted, text, now: readRecording(text, 'the replay') };
  } finally {
    restore();
  }
}

function surroundingsOf(time: VirtualTime): Surroundings {
  const timers = time.timersOf({ id: 1, isAlive: true, rate: 1 });
  const noFile = () => Promise.reject(new Error('A replay has no files'));
  return { timers, wallMs: () => time.nowMs, monotonicMs: () => time.nowMs, random: seeded(2), files: { open: noFile, stat: noFile } };
}

interface Stage {
  readonly time: VirtualTime;
  readonly program: Program;
  readonly service: RecordedService;
  readonly settings: Settings;
}

/** Makes the calls when they were made then, or as soon as the calls have ended that they seem to have waited for. */
class Caller {
  readonly #recording: Recording;
  readonly #time: VirtualTime;
  readonly #client: PetStoreClient;
  readonly #program: Program;
  readonly #shown: Shown;
  readonly #ended = new Map<RecordedCall, Promise<void>>();

  constructor(recording: Recording, { time, program, service, settings }: Stage) {
    const { plan } = recording;
    this.#recording = recording;
    this.#shown = settingsShownBy(recording);
    this.#time = time;
    this.#program = program;
    this.#client = new program.PetStoreClient({
      ...ADDRESS,
      ...this.#shown.client,
      plan: plan === 'learned' ? undefined : plan,
      ...settings,
      fetch: service.fetch,
    });
  }

  /** Gives the recording of it. */
  async run(): Promise<string> {
    const recording = this.#program.recordCalls(this.#client, { latest: Number.MAX_SAFE_INTEGER });
    const { calls, endedAtMs } = this.#recording;
    for (const call of calls) this.#ended.set(call, this.#make(call));
    const work = Promise.all(this.#ended.values());
    const ending = await this.#time.run(work, { untilMs: endedAtMs + LONGEST_AFTER_MS, mostTimers: MOST_TIMERS });
    if (ending !== 'done')
      throw new Error(`Cannot end the replay: ${ending === 'hung' ? 'a call never settles' : 'it never comes to rest'}`);
    this.#client.close();
    return recording.text();
  }

  async #make(call: RecordedCall): Promise<void> {
    const before = call.after.map((other) => this.#ended.get(other));
    if (before.length > 0) await Promise.all(before);
    else if (call.atMs > this.#time.nowMs) await this.#time.wait(call.atMs - this.#time.nowMs);
    const controller = new AbortController();
    if (call.settled?.kind === 'abort') void this.#time.wait(call.settled.ms).then(() => controller.abort());
    const headers = { [CALL_HEADER]: String(call.number) };
    // What becomes of it is in the recording.
    await this.#send(call, { signal: controller.signal, headers }).catch(() => {});
  }

  async #send(call: RecordedCall, options: { signal: AbortSignal; headers: Record<string, string> }): Promise<void> {
    const client = this.#client;
    const method = isPost(call) ? 'POST' : 'GET';
    if (call.operation === 'fetch') return void (await (await client.fetch('/recorded', { ...options, method })).text());
    const all = { ...options, ...this.#shown.ofCall(call) };
    if (call.operation === 'listInventory') await client.listInventory(all);
    if (call.operation === 'updateInventory') await client.updateInventory(petIdOf(call), { quantity: 1 }, all);
    if (call.operation !== 'streamInventory') return;
    for await (const batch of client.streamInventory(all).batches()) void batch;
  }
}
