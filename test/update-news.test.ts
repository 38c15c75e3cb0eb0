import type { InventoryItem } from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import { UpdateNews } from '../src/update-news.ts';
import { failure, item } from './support/answers.ts';
import { scriptedClient } from './support/client.ts';
import { rejectionOf } from './support/outcome.ts';
import { holdTime } from './support/time.ts';

holdTime();

function follower(): {
  confirmed: (item: InventoryItem<'number' | 'bigint'>) => void;
  inDoubt: (petId: number | bigint) => void;
  clientClosed: (reason: unknown) => void;
  told: string[];
} {
  const told: string[] = [];
  return {
    told,
    confirmed: ({ petId, quantity }) => told.push(`${petId}: ${quantity}`),
    inDoubt: (petId) => told.push(`${petId} in doubt`),
    clientClosed: (reason) => told.push(String(reason)),
  };
}

describe('UpdateNews', () => {
  test('reports every update of a client, confirmed or in doubt, before its promise settles', async () => {
    const { client } = scriptedClient([() => item(7, 3), () => failure(502), () => failure(404), () => item(7, 4)], { maxRetries: 0 });
    const following = follower();
    const stop = UpdateNews.from(client).follow(following);
    await client.updateInventory(7, { quantity: 3 });
    expect(following.told).toEqual(['7: 3']);
    await rejectionOf(client.updateInventory(7, { quantity: 9 }));
    expect(following.told).toEqual(['7: 3', '7 in doubt']);
    await vi.advanceTimersByTimeAsync(10_000);
    await rejectionOf(client.updateInventory(7, { quantity: 9 }));
    await rejectionOf(client.updateInventory(7, { quantity: 9 }, { signal: AbortSignal.abort() }));
    stop();
    await client.updateInventory(7, { quantity: 4 });
    expect(following.told).toHaveLength(2);
  });

  test('reports an update and those that it superseded once, and does not report one that was not sent', async () => {
    const { client, seen } = scriptedClient([() => item(7, 3), () => failure(502)], { maxRetries: 0, latestOnly: true });
    const following = follower();
    UpdateNews.from(client).follow(following);
    await Promise.all([1, 2, 3].map((quantity) => client.updateInventory(7, { quantity })));
    expect(following.told).toEqual(['7: 3']);
    const toldWhenRejected = async (quantity: number) => {
      await rejectionOf(client.updateInventory(7, { quantity }));
      return following.told.slice(1);
    };
    expect(await Promise.all([4, 5].map(toldWhenRejected))).toEqual([['7 in doubt'], ['7 in doubt']]);
    await rejectionOf(client.updateInventory(7, { quantity: 6 }, { signal: AbortSignal.abort() }));
    expect(following.told).toEqual(['7: 3', '7 in doubt']);
    expect(seen).toHaveLength(2);
  });

  test('reports that its client is closed', () => {
    const { client } = scriptedClient([]);
    const following = follower();
    UpdateNews.from(client).follow(following);
    client.close();
    expect(following.told).toEqual(['AbortError: The client was closed']);
  });

  test('reports to what another copy of the package follows', async () => {
    const { client } = scriptedClient([() => item(7, 3)]);
    vi.resetModules();
    const other = await import('../src/update-news.ts');
    const following = follower();
    other.UpdateNews.from(client).follow(following);
    await client.updateInventory(7, { quantity: 3 });
    expect(other.UpdateNews).not.toBe(UpdateNews);
    expect(following.told).toEqual(['7: 3']);
  });

  test('keeps nothing for a client without followers', async () => {
    const { client } = scriptedClient([() => item(7, 3)]);
    await client.updateInventory(7, { quantity: 3 });
    expect(UpdateNews.of(client)).toBeUndefined();
  });

  test('distinguishes a client that reports its calls from a fake', async () => {
    const { client } = scriptedClient([() => item(7, 3)]);
    const [ours, ofFake] = [UpdateNews.from(client), UpdateNews.from({})];
    await client.updateInventory(7, { quantity: 3 });
    expect([ours.isTold, ofFake.isTold]).toEqual([true, false]);
  });

  test('informs all followers', () => {
    const news = UpdateNews.from({});
    const all = Array.from({ length: 200 }, follower);
    for (const each of all) news.follow(each);
    news.tell({ petId: 1, confirmed: { petId: 1, quantity: 2, status: 'sold' }, outcome: 'unknown' });
    news.tell({ petId: 1, confirmed: undefined, outcome: 'unknown' });
    news.tell({ petId: 1, confirmed: undefined, outcome: 'rejected' });
    news.tell({ petId: undefined, confirmed: undefined, outcome: 'unknown' });
    expect(all.map(({ told }) => told)).toEqual(all.map(() => ['1: 2', '1 in doubt']));
  });
});
