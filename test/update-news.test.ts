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
  told: string[];
} {
  const told: string[] = [];
  return {
    told,
    confirmed: ({ petId, quantity }) => told.push(`${petId}: ${quantity}`),
    inDoubt: (petId) => told.push(`${petId} in doubt`),
  };
}

describe('UpdateNews', () => {
  test('is told of every update of a client before its promise settles, confirmed or in doubt', async () => {
    const { client } = scriptedClient([() => item(7, 3), () => failure(502), () => failure(404), () => item(7, 4)], { maxRetries: 0 });
    const following = follower();
    const stop = UpdateNews.of(client)?.follow(following);
    await client.updateInventory(7, { quantity: 3 });
    expect(following.told).toEqual(['7: 3']);
    await rejectionOf(client.updateInventory(7, { quantity: 9 }));
    expect(following.told).toEqual(['7: 3', '7 in doubt']);
    await vi.advanceTimersByTimeAsync(10_000);
    await rejectionOf(client.updateInventory(7, { quantity: 9 }));
    await rejectionOf(client.updateInventory(7, { quantity: 9 }, { signal: AbortSignal.abort() }));
    stop?.();
    await client.updateInventory(7, { quantity: 4 });
    expect(following.told).toHaveLength(2);
  });

  test('tells all followers, and has none of what is no client', () => {
    const news = new UpdateNews({});
    const all = Array.from({ length: 200 }, follower);
    for (const each of all) news.follow(each);
    news.tell({ petId: 1, confirmed: { petId: 1, quantity: 2, status: 'sold' }, outcome: 'unknown' });
    news.tell({ petId: 1, confirmed: undefined, outcome: 'unknown' });
    news.tell({ petId: 1, confirmed: undefined, outcome: 'rejected' });
    news.tell({ petId: undefined, confirmed: undefined, outcome: 'unknown' });
    expect(all.map(({ told }) => told)).toEqual(all.map(() => ['1: 2', '1 in doubt']));
    expect(UpdateNews.of({})).toBeUndefined();
  });
});
