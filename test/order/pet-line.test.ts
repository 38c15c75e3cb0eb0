import { describe, expect, test, vi } from 'vitest';
import type { Call } from '../../src/call.ts';
import { PetLine } from '../../src/order/pet-line.ts';
import { makeCall } from '../support/call.ts';
import { deferred } from '../support/deferred.ts';
import { countListeners } from '../support/listeners.ts';
import { rejectionOf } from '../support/outcome.ts';
import { holdTime } from '../support/time.ts';

holdTime();

/** A gate and a service in one: it gives permits and answers requests when the test says so; `log` lists what happened. */
class Counter {
  readonly log: string[] = [];
  /** The updates whose waits the gate may end, as they come and leave. */
  readonly watches: string[] = [];
  /** What a listener does when a watch begins or ends. */
  onWatch: ((change: string) => void) | undefined;
  /** Refuses the update that was watched last. */
  refuseWatched: (refusal: unknown) => Promise<void> = async () => {};
  readonly raised: Call[] = [];
  /** How often the last update left the line. */
  emptied = 0;
  readonly #line = new PetLine<string, string>(() => {
    this.emptied += 1;
  });
  readonly #permits = new Map<string, ReturnType<typeof deferred<string>>>();
  readonly #answers = new Map<string, ReturnType<typeof deferred<string>>>();

  run(name: string, call: Call): Promise<string> {
    return this.#line.run(call, {
      raise: () => this.raised.push(call),
      watch: (onRefusal) => this.#watch(name, onRefusal),
      admit: (passed) => this.#admit(name, call, passed),
      cancel: (permit) => this.log.push(`cancel ${permit}`),
      send: (permit) => {
        this.log.push(`send ${name} with ${permit}`);
        call.sent();
        const answer = deferred<string>();
        this.#answers.set(name, answer);
        return answer.promise;
      },
    });
  }

  #watch(name: string, onRefusal: (refusal: unknown) => void): () => void {
    this.#report(`watch ${name}`);
    this.refuseWatched = async (refusal) => {
      onRefusal(refusal);
      await settle();
    };
    return () => this.#report(`leave ${name}`);
  }

  #report(change: string): void {
    this.watches.push(change);
    this.onWatch?.(change);
  }

  #admit(name: string, call: Call, passed: string | undefined): string | Promise<string> {
    if (passed !== undefined) return passed;
    this.log.push(`queue ${name}`);
    const permit = deferred<string>();
    this.#permits.set(name, permit);
    call.signal.addEventListener('abort', () => permit.reject(call.signal.reason));
    return permit.promise;
  }

  async admit(name: string): Promise<void> {
    this.#permits.get(name)?.resolve(`permit of ${name}`);
    await settle();
  }

  async refuse(name: string, reason: unknown): Promise<void> {
    this.#permits.get(name)?.reject(reason);
    await settle();
  }

  async answer(name: string): Promise<void> {
    this.#answers.get(name)?.resolve(`answer to ${name}`);
    await settle();
  }

  async fail(name: string, reason: unknown): Promise<void> {
    this.#answers.get(name)?.reject(reason);
    await settle();
  }

  async drop(call: Call): Promise<void> {
    this.#line.drop(call);
    await settle();
  }
}

const settle = () => vi.advanceTimersByTimeAsync(0);

let lastId = 0;
const willing = (options = {}) => makeCall({ id: ++lastId }, { latestOnly: true, ...options });
const plain = () => makeCall({ id: ++lastId });

describe('PetLine with latestOnly', () => {
  test('sends only the latest of the waiting updates, with the permit of the first, and all settle as it does', async () => {
    const counter = new Counter();
    const calls = [willing(), willing(), willing()];
    const all = ['a', 'b', 'c'].map((name, index) => counter.run(name, calls[index] ?? plain()));
    await counter.admit('a');
    await counter.answer('c');
    expect(await Promise.all(all)).toEqual(['answer to c', 'answer to c', 'answer to c']);
    expect(counter.log).toEqual(['queue a', 'send c with permit of a']);
    expect(calls.map(({ supersededBy }) => supersededBy)).toEqual([calls[2]?.id, calls[2]?.id, undefined]);
    expect(counter.emptied).toBe(1);
  });

  test('depends only on the option of the earlier update', async () => {
    const counter = new Counter();
    const calls = [willing(), plain(), willing(), plain()];
    const all = ['a', 'b', 'c', 'd'].map((name, index) => counter.run(name, calls[index] ?? plain()));
    await counter.admit('a');
    await counter.answer('b');
    await counter.admit('d');
    await counter.answer('d');
    expect(await Promise.all(all)).toEqual(['answer to b', 'answer to b', 'answer to d', 'answer to d']);
    expect(counter.log).toEqual(['queue a', 'send b with permit of a', 'queue d', 'send d with permit of d']);
  });

  test('does not supersede an update that was sent, whatever the outcome of its attempts', async () => {
    const counter = new Counter();
    const first = counter.run('a', willing());
    await counter.admit('a');
    const others = [counter.run('b', willing()), counter.run('c', willing())];
    await counter.answer('a');
    await counter.admit('c');
    await counter.answer('c');
    expect(await Promise.all([first, ...others])).toEqual(['answer to a', 'answer to c', 'answer to c']);
    expect(counter.log).toEqual(['queue a', 'send a with permit of a', 'queue c', 'send c with permit of c']);
  });

  test('gives all of them the same error object as the one that was sent', async () => {
    const counter = new Counter();
    const failure = new Error('down');
    const all = ['a', 'b', 'c'].map((name) => rejectionOf(counter.run(name, willing())));
    await counter.admit('a');
    await counter.fail('c', failure);
    expect(await Promise.all(all)).toEqual([failure, failure, failure]);
    expect(counter.emptied).toBe(1);
  });

  test('gives them the abort reason of the one that was sent, since its effect is unknown', async () => {
    const counter = new Counter();
    const later = willing();
    const all = [counter.run('a', willing()), counter.run('b', later)].map(rejectionOf);
    await counter.admit('a');
    later.abort('enough');
    await counter.fail('b', new Error('torn'));
    expect((await Promise.all(all))[0]).toBe('enough');
  });

  test('ends superseded updates if the incoming request of the later one ended after it was sent, with an unknown effect', async () => {
    const counter = new Counter();
    const later = willing();
    const followers = [counter.run('a', willing()), counter.run('b', willing())].map(rejectionOf);
    void counter.run('c', later);
    await counter.admit('a');
    await counter.drop(later);
    expect(await Promise.all(followers)).toEqual([later.goneReason, later.goneReason]);
    expect(counter.emptied).toBe(1);
  });

  test('sends the earlier update after all if the incoming request of the later one ended before it was sent', async () => {
    const counter = new Counter();
    const later = willing();
    const earlier = counter.run('a', willing());
    void counter.run('b', later);
    await counter.drop(later);
    await counter.admit('a');
    await counter.answer('a');
    expect(await earlier).toBe('answer to a');
  });

  test('rejects only the aborted update', async () => {
    const counter = new Counter();
    const calls = [willing(), willing(), willing()];
    const listeners = calls.map(({ signal }) => countListeners(signal));
    const all = ['a', 'b', 'c'].map((name, index) => counter.run(name, calls[index] ?? plain()));
    calls[1]?.abort('enough');
    expect(await rejectionOf(all[1] ?? Promise.resolve())).toBe('enough');
    await counter.admit('a');
    await counter.answer('c');
    expect(await Promise.all([all[0], all[2]])).toEqual(['answer to c', 'answer to c']);
    expect(listeners.map((count) => count())).toEqual([1, 0, 0]);
  });

  test('begins the later update again if the earlier one, which queued for it, is aborted or refused', async () => {
    const counter = new Counter();
    const leaving = willing();
    const all = [counter.run('a', leaving), counter.run('b', willing())];
    const left = rejectionOf(all[0] ?? Promise.resolve());
    leaving.abort('enough');
    await settle();
    all.push(counter.run('c', willing()));
    await counter.refuse('b', new Error('too long'));
    await counter.admit('c');
    await counter.answer('c');
    expect([await left, await Promise.all(all.slice(1))]).toEqual(['enough', ['answer to c', 'answer to c']]);
    expect(counter.log).toEqual(['queue a', 'queue b', 'queue c', 'send c with permit of c']);
  });

  test('sends the earlier update after all, in its place, if the later one is aborted unsent', async () => {
    const counter = new Counter();
    const calls = [willing(), willing(), willing()];
    const all = ['a', 'b', 'c'].map((name, index) => counter.run(name, calls[index] ?? plain()));
    const left = rejectionOf(all[2] ?? Promise.resolve());
    calls[2]?.abort('enough');
    expect(await left).toBe('enough');
    await counter.admit('a');
    await counter.answer('b');
    expect(await Promise.all(all.slice(0, 2))).toEqual(['answer to b', 'answer to b']);
    expect(counter.log).toEqual(['queue a', 'send b with permit of a']);
    expect(calls.map(({ supersededBy }) => supersededBy)).toEqual([calls[1]?.id, undefined, undefined]);
  });

  test('sends the earlier update after all if the later one is refused, so that each ends on its own', async () => {
    const counter = new Counter();
    const first = counter.run('z', plain());
    const all = ['a', 'b'].map((name) => rejectionOf(counter.run(name, willing())));
    await counter.admit('z');
    await counter.answer('z');
    await counter.refuse('b', 'b waits too long');
    await counter.refuse('a', 'a waits too long');
    expect([await first, await Promise.all(all)]).toEqual(['answer to z', ['a waits too long', 'b waits too long']]);
    expect(counter.log).toEqual(['queue z', 'send z with permit of z', 'queue b', 'queue a']);
    expect(counter.emptied).toBe(1);
  });

  test('lets the next later update supersede the updates that an aborted one had superseded', async () => {
    const counter = new Counter();
    const leaving = plain();
    const all = [counter.run('a', willing()), counter.run('b', leaving), counter.run('c', plain())];
    const left = rejectionOf(all[1] ?? Promise.resolve());
    leaving.abort('enough');
    await left;
    await counter.admit('a');
    await counter.answer('c');
    expect(await Promise.all([all[0], all[2]])).toEqual(['answer to c', 'answer to c']);
    expect(counter.log).toEqual(['queue a', 'send c with permit of a']);
  });

  test('lets the gate refuse the update that is to be sent in place of the one that queues, and only that update', async () => {
    const counter = new Counter();
    const all = ['a', 'b', 'c', 'd'].map((name) => counter.run(name, willing()));
    const refused = rejectionOf(all[3] ?? Promise.resolve());
    await counter.refuseWatched('d may not wait so long');
    expect(await refused).toBe('d may not wait so long');
    await counter.admit('a');
    await counter.answer('c');
    expect(await Promise.all(all.slice(0, 3))).toEqual(['answer to c', 'answer to c', 'answer to c']);
    expect(counter.watches.slice(0, 7)).toEqual(['watch b', 'leave b', 'watch c', 'leave c', 'watch d', 'leave d', 'watch c']);
    expect(counter.log).toEqual(['queue a', 'send c with permit of a']);
  });

  test('lets the gate refuse an update while an earlier one is sent, until its own turn comes', async () => {
    const counter = new Counter();
    const first = counter.run('a', willing());
    await counter.admit('a');
    const second = counter.run('b', willing());
    expect(counter.watches).toEqual(['watch b']);
    await counter.answer('a');
    expect(counter.watches).toEqual(['watch b', 'leave b']);
    await counter.admit('b');
    await counter.answer('b');
    expect([await first, await second]).toEqual(['answer to a', 'answer to b']);
    expect(counter.watches).toHaveLength(2);
  });

  test('no longer watches an update that is superseded, or whose incoming request has ended', async () => {
    const counter = new Counter();
    const gone = plain();
    void counter.run('a', plain());
    void counter.run('b', willing());
    void counter.run('c', gone);
    expect(counter.watches).toEqual(['watch b', 'leave b', 'watch c']);
    await counter.drop(gone);
    expect(counter.watches.slice(3)).toEqual(['leave c', 'watch b']);
  });

  test('no longer watches an update that a listener supersedes just as its watch begins', async () => {
    const counter = new Counter();
    void counter.run('a', plain());
    counter.onWatch = () => {
      counter.onWatch = undefined;
      void counter.run('c', plain());
    };
    void counter.run('b', willing());
    expect(counter.watches).toEqual(['watch b', 'watch c', 'leave b']);
  });

  test.each(['watch b', 'leave b'])('keeps every update that a listener makes at "%s"', async (when) => {
    const counter = new Counter();
    const all = [counter.run('a', plain())];
    counter.onWatch = (change) => {
      if (change !== when) return;
      counter.onWatch = undefined;
      all.push(counter.run("the listener's", plain()));
    };
    all.push(counter.run('b', willing()), counter.run('c', plain()));
    for (const name of ['a', "the listener's", 'c', "the listener's"]) {
      await counter.admit(name);
      await counter.answer(name);
    }
    const settled = vi.fn();
    for (const each of all) void each.then(settled);
    await vi.advanceTimersByTimeAsync(0);
    expect(settled).toHaveBeenCalledTimes(4);
    const watched = ['watch b', 'leave b'].map((change) => counter.watches.lastIndexOf(change));
    expect(watched).toEqual(watched.toSorted((one, other) => one - other));
  });

  test('raises the low updates that a normal one supersedes, so that it takes a normal place', () => {
    const counter = new Counter();
    const calls = [willing({ priority: 'low' }), willing({ priority: 'low' }), willing(), willing({ priority: 'low' })];
    for (const [index, call] of calls.entries()) void counter.run(String(index), call);
    expect(calls.map(({ priority }) => priority)).toEqual(['normal', 'normal', 'normal', 'low']);
    expect(counter.raised).toEqual([calls[1], calls[0]]);
  });

  test('counts the time until the later update has settled as waiting', async () => {
    await vi.advanceTimersByTimeAsync(10_000);
    const counter = new Counter();
    const calls = [willing(), willing(), willing()];
    const all = ['a', 'b', 'c'].map((name, index) => counter.run(name, calls[index] ?? plain()));
    await counter.admit('a');
    await vi.advanceTimersByTimeAsync(1_500);
    await counter.answer('c');
    await Promise.all(all);
    expect(calls.map(({ waitedMs }) => waitedMs)).toEqual([1_500, 1_500, 0]);
  });
});
