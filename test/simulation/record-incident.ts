import { expect } from 'vitest';
import { PetStoreClient, type PetStoreClientOptions } from '../../src/index.ts';
import { recordCalls } from '../../src/record-calls.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts';
import { seeded } from '../worlds/random.ts';
import { VirtualTime } from '../worlds/virtual-time.ts';
import { type Recording, readRecording } from './recording.ts';

const STARTS_AT_MS = Date.parse('2026-11-21T10:00:20Z');

/** What is to be recorded. */
export interface Incident {
  readonly service?: SandboxOptions;
  readonly client?: Partial<PetStoreClientOptions>;
  readonly work: (client: PetStoreClient, stage: { time: VirtualTime; sandbox: Sandbox }) => Promise<unknown>;
}

/** Records what a client does in virtual time against a sandbox in which its key has the free plan. */
export async function recordIncident({ service = {}, client: options = {}, work }: Incident): Promise<string> {
  const time = new VirtualTime();
  const restore = time.install();
  try {
    time.begin(STARTS_AT_MS, seeded(7));
    const sandbox = createSandbox({ pets: 200, ban: false, latency: 40, clock: () => time.nowMs, ...service });
    const client = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, ...options });
    const recording = recordCalls(client);
    const ending = await time.run(work(client, { time, sandbox }), { untilMs: STARTS_AT_MS + 3_600_000, mostTimers: 1_000_000 });
    client.close();
    expect(ending).toBe('done');
    return recording.text();
  } finally {
    restore();
  }
}

/** Reads the recording of a test. */
export function readIncident(text: string): Recording {
  return readRecording(text, 'incident.jsonl');
}

/** The statuses that each call met, `undefined` for a request without an answer. */
export function statusesOf({ calls }: Recording): (number | undefined)[][] {
  return calls.map(({ requests }) => requests.map(({ status }) => status));
}

/** The most calls that were under way at once. */
export function mostAtOnce({ calls }: Recording): number {
  const changes = calls.flatMap(({ atMs, settled }) => [
    { atMs, by: 1 },
    { atMs: settled?.atMs ?? Number.POSITIVE_INFINITY, by: -1 },
  ]);
  // At one instant, ends come before beginnings.
  changes.sort((one, other) => one.atMs - other.atMs || one.by - other.by);
  let underWay = 0;
  return changes.reduce((most, { by }) => {
    underWay += by;
    return Math.max(most, underWay);
  }, 0);
}
