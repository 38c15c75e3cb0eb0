import { getHeapStatistics } from 'node:v8';
import { describe, expect, test, vi } from 'vitest';
import type { Call } from '../../src/call.ts';
import { Emitter } from '../../src/events.ts';
import { InOrder } from '../../src/order/in-order.ts';
import { makeCall, makeListCall } from '../support/call.ts';
import { deferred } from '../support/deferred.ts';
import { collectGarbage } from '../support/garbage.ts';
import { countListeners } from '../support/listeners.ts';
import { rejectionOf } from '../support/outcome.ts';
import { holdTime } from '../support/time.ts';

holdTime();

const unwatched = { raise: () => {}, watch: () => () => {}, admit: () => undefined, cancel: () => {} };

/** Runs pieces of work that end when the test says so; `log` lists what began and ended. */
class Desk {
  readonly log: string[] = [];
  readonly raised: Call[] = [];
  readonly #order = new InOrder<undefined, string>();
  readonly #ends = new Map<string, (failed?: Error) => void>();

  run(name: string, call: Call): Promise<string> {
    const send = () => {
      this.log.push(`begin ${name}`);
      const { promise, resolve, reject } = deferred<string>();
      this.#ends.set(name, (failed) => (failed ? reject(failed) : resolve(name)));
      return promise;
    };
    return this.#order.run(call, { ...unwatched, raise: () => this.raised.push(call), send });
  }

  async end(name: string, failed?: Error): Promise<void> {
    this.log.push(`end ${name}`);
    this.#ends.get(name)?.(failed);
    await vi.advanceTimersByTimeAsync(0);
  }
}

const PETS = 20_000;
/** If the heap grows by more bytes than this, something is kept for each pet. */
const LEAST_LEAK_BYTES = 500_000;

type Order = InOrder<undefined, string>;

/** By how much the heap grows with an update of each of many pets in the given `InOrder`, which stays in use. */
async function growthBy(update: (order: Order, call: Call) => unknown): Promise<number> {
  const order: Order = new InOrder();
  const updateAll = (firstId: number) =>
    Promise.all(Array.from({ length: PETS }, (_, index) => update(order, makeCall({ petId: firstId + index }))));
  await updateAll(0);
  await collectGarbage();
  const before = getHeapStatistics().used_heap_size;
  await updateAll(PETS);
  await collectGarbage();
  const after = getHeapStatistics().used_heap_size;
  order.drop(makeCall());
  return after - before;
}

describe('InOrder', () => {
  test('keeps nothing for a pet whose updates have ended', async () => {
    const growth = await growthBy((order, call) => order.run(call, { ...unwatched, send: async () => 'sent' }));
    expect(growth).toBeLessThan(LEAST_LEAK_BYTES);
  });

  test('keeps nothing for a pet whose updates were dropped', async () => {
    const growth = await growthBy((order, call) => {
      void order.run(call, { ...unwatched, send: () => new Promise(() => {}) });
      order.drop(call);
    });
    expect(growth).toBeLessThan(LEAST_LEAK_BYTES);
  });

  test('begins an update when every earlier one of its pet has ended', async () => {
    const desk = new Desk();
    const all = ['a', 'b', 'c'].map((name) => desk.run(name, makeCall()));
    await desk.end('a');
    await desk.end('b');
    await desk.end('c');
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c']);
    expect(desk.log).toEqual(['begin a', 'end a', 'begin b', 'end b', 'begin c', 'end c']);
  });

  test('does not hold up updates of other pets, or lists', async () => {
    const desk = new Desk();
    const all = [desk.run('42', makeCall()), desk.run('43', makeCall({ petId: 43 })), desk.run('list', makeListCall())];
    expect(desk.log).toEqual(['begin 42', 'begin 43', 'begin list']);
    await Promise.all(['42', '43', 'list'].map((name) => desk.end(name)));
    await Promise.all(all);
  });

  test('treats a number and a bigint as the same pet', async () => {
    const desk = new Desk();
    const all = [desk.run('number', makeCall({ petId: 42 })), desk.run('bigint', makeCall({ petId: 42n }))];
    expect(desk.log).toEqual(['begin number']);
    await desk.end('number');
    await desk.end('bigint');
    await Promise.all(all);
  });

  test('continues after a failure', async () => {
    const desk = new Desk();
    const failure = new Error('down');
    const rejection = rejectionOf(desk.run('a', makeCall()));
    const second = desk.run('b', makeCall());
    await desk.end('a', failure);
    await desk.end('b');
    expect([await rejection, await second]).toEqual([failure, 'b']);
  });

  test('keeps the order of the others when a waiting update is aborted', async () => {
    const desk = new Desk();
    const leaving = makeCall();
    const listeners = countListeners(leaving.signal);
    const first = desk.run('a', makeCall());
    const rejection = rejectionOf(desk.run('b', leaving));
    const third = desk.run('c', makeCall());
    leaving.abort('enough');
    expect(await rejection).toBe('enough');
    expect(desk.log).toEqual(['begin a']);
    await desk.end('a');
    await desk.end('c');
    expect([await first, await third, desk.log]).toEqual(['a', 'c', ['begin a', 'end a', 'begin c', 'end c']]);
    expect(listeners()).toBe(0);
  });

  test('does not begin a call that was aborted before its turn', async () => {
    const desk = new Desk();
    const first = desk.run('a', makeCall());
    const aborted = makeCall();
    aborted.abort('before');
    expect(await rejectionOf(desk.run('b', aborted))).toBe('before');
    await desk.end('a');
    expect([await first, desk.log]).toEqual(['a', ['begin a', 'end a']]);
  });

  test('raises the low updates ahead of a normal one, and not those behind it', async () => {
    const desk = new Desk();
    const calls = [
      makeCall({}, { priority: 'low' }),
      makeCall({}, { priority: 'low' }),
      makeCall(),
      makeCall({}, { priority: 'low' }),
      makeCall({ petId: 7 }, { priority: 'low' }),
    ];
    const all = calls.map((call, index) => desk.run(String(index), call));
    expect(calls.map(({ priority }) => priority)).toEqual(['normal', 'normal', 'normal', 'low', 'low']);
    expect(desk.raised.map((call) => calls.indexOf(call))).toEqual([1, 0]);
    await Promise.all(['4', '0'].map((name) => desk.end(name)));
    await desk.end('1');
    await desk.end('2');
    await desk.end('3');
    await Promise.all(all);
  });

  test('reports the wait and counts it, and leaves no listener behind', async () => {
    const emitter = new Emitter();
    const heard = vi.fn();
    emitter.on('wait', heard);
    const desk = new Desk();
    const [first, second] = [makeCall({ emitter }), makeCall({ emitter, id: 2 })];
    const listeners = countListeners(second.signal);
    const all = [desk.run('a', first), desk.run('b', second)];
    await vi.advanceTimersByTimeAsync(1_500);
    await desk.end('a');
    await desk.end('b');
    await Promise.all(all);
    expect(heard.mock.calls).toEqual([[{ callId: 2, operation: 'updateInventory', petId: 42, attempt: 0, reason: 'order', ms: 0 }]]);
    expect([first.waitedMs, second.waitedMs]).toEqual([0, 1_500]);
    expect(listeners()).toBe(0);
  });
});
