import { describe, expect, test, vi } from 'vitest';
import { type FetchWith, fetchSurrounded, isSurrounded, surround } from '../src/around-fetch.ts';
import { thrower } from './support/outcome.ts';

const answer = () => new Response('answer');

describe('fetchSurrounded', () => {
  test('runs each surrounding function around the fetch of a client, the latest outermost, until it is removed', async () => {
    const client = {};
    const log: string[] = [];
    const around = (name: string) => (callId: number, fetchWith: FetchWith) => {
      log.push(`${name} begins ${callId}`);
      fetchWith({ [name]: '1', both: name });
      log.push(`${name} ends`);
    };
    const fetchWith: FetchWith = async (headers) => {
      log.push(JSON.stringify(headers));
      return answer();
    };
    const ends = [surround(client, around('a')), surround(client, around('b'))];
    expect(await (await fetchSurrounded(client, 7, fetchWith)).text()).toBe('answer');
    expect(log).toEqual(['b begins 7', 'a begins 7', '{"b":"1","both":"a","a":"1"}', 'a ends', 'b ends']);
    ends[0]?.();
    expect(isSurrounded(client)).toBe(true);
    ends[1]?.();
    expect([isSurrounded(client), isSurrounded({})]).toEqual([false, false]);
  });

  test.each<[string, (fetchWith: FetchWith) => unknown]>([
    ['throws before', thrower],
    ['throws after', (fetchWith) => [fetchWith({}), thrower()]],
    ['rejects', async () => thrower()],
    ['calls it twice', (fetchWith) => [fetchWith({}), fetchWith({})]],
    ['never calls it', () => {}],
  ])('calls fetch once if a surrounding function %s', async (_what, surrounding) => {
    const client = {};
    surround(client, (_callId, fetchWith) => surrounding(fetchWith));
    const fetchWith = vi.fn(async () => answer());
    expect(await (await fetchSurrounded(client, 1, fetchWith)).text()).toBe('answer');
    expect(fetchWith).toHaveBeenCalledOnce();
  });

  test('calls a fetch that throws once, and rejects with what it throws', async () => {
    const client = {};
    surround(client, (_callId, fetchWith) => fetchWith({}));
    const fetchWith = vi.fn(thrower);
    await expect(fetchSurrounded(client, 1, fetchWith)).rejects.toThrow('made up');
    expect(fetchWith).toHaveBeenCalledOnce();
  });

  test('runs a function that another copy of the package put around a client', async () => {
    const client = {};
    vi.resetModules();
    const other = await import('../src/around-fetch.ts');
    other.surround(client, (_callId, fetchWith) => fetchWith({ traceparent: '00' }));
    const fetchWith = vi.fn(async (_headers: Record<string, string>) => answer());
    await fetchSurrounded(client, 1, fetchWith);
    expect(other.surround).not.toBe(surround);
    expect(fetchWith.mock.calls).toEqual([[{ traceparent: '00' }]]);
  });
});
