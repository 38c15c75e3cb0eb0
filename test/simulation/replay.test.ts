import { describe, expect, test } from 'vitest';
import type { PetStoreClient } from '../../src/index.ts';
import { type Incident, mostAtOnce, readIncident, recordIncident } from './record-incident.ts';
import type { Recording } from './recording.ts';
import { type Replayed, replay, type Settings } from './replay.ts';

/** What was then, and its replay. */
async function playAgain(incident: Incident, settings?: Settings): Promise<{ then: Recording; again: Replayed }> {
  const then = readIncident(await recordIncident(incident));
  return { then, again: await replay(then, settings) };
}

async function lists(client: PetStoreClient, count: number): Promise<void> {
  for (let call = 0; call < count; call++) await client.listInventory();
}

async function batches(client: PetStoreClient): Promise<void> {
  for (let batch = 0; batch < 6; batch++) await Promise.all(Array.from({ length: 10 }, () => client.listInventory()));
}

describe('a replay of batches', () => {
  const slower = { plan: { requestsPerMinute: 20 } };

  test('has no more calls under way with a smaller plan than the recording', async () => {
    const { then, again } = await playAgain({ client: { plan: 'free' }, work: batches }, slower);
    expect([mostAtOnce(then), mostAtOnce(again.now)]).toEqual([10, 10]);
  });

  test('keeps them apart from other calls at the same time', async () => {
    const beside = (client: PetStoreClient) => Promise.all([batches(client), lists(client, 7)]);
    const { then, again } = await playAgain(
      { service: { latency: { fromMs: 30, toMs: 60 } }, client: { plan: 'free' }, work: beside },
      slower,
    );
    expect([mostAtOnce(then), mostAtOnce(again.now)]).toEqual([11, 11]);
  });

  test('has no more calls under way where workers take turns', async () => {
    const workers = (client: PetStoreClient) => Promise.all(Array.from({ length: 5 }, () => lists(client, 8)));
    const { then, again } = await playAgain(
      { service: { latency: { fromMs: 30, toMs: 60 } }, client: { plan: 'free' }, work: workers },
      slower,
    );
    expect([mostAtOnce(then), mostAtOnce(again.now)]).toEqual([5, 5]);
  });
});
