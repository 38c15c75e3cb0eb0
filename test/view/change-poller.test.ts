import { expect, test, vi } from 'vitest';
import { ChangePoller, pauseMsAfter } from '../../src/view/change-poller.ts';
import { rejectionOf, soFar } from '../support/outcome.ts';
import { holdTime, NOW_MS } from '../support/time.ts';

holdTime();

type MaxAgeMs = number | 'quota' | undefined;

/** A poller whose looks are noted with their time, and end as the test says. The stock was read now, and may become half a second old. */
function openPoller(look: (times: number) => Promise<void> = async () => {}) {
  const looks: { atMs: number; maxAgeMs: MaxAgeMs; signal: AbortSignal }[] = [];
  const held = { atMs: Date.now(), isStale: false };
  const poller = new ChangePoller<'number'>({
    form: (item) => ({ ...item, petId: Number(item.petId) }),
    dueInMs: (maxAgeMs = 500) => held.atMs + Number(maxAgeMs) - Date.now(),
    isStale: () => held.isStale,
    look: async (maxAgeMs, signal) => {
      held.isStale = true;
      await look(looks.push({ atMs: Date.now() - NOW_MS, maxAgeMs, signal }));
      Object.assign(held, { atMs: Date.now(), isStale: false });
    },
  });
  const atMs = () => looks.map((each) => each.atMs);
  return { poller, looks, atMs };
}

const change = (quantity: number) => ({ before: undefined, after: { petId: 1, quantity, status: 'sold' } });

test('ChangePoller computes changes only while a consumer iterates', async () => {
  const { poller } = openPoller();
  const computed = vi.fn(() => [change(5)].values());
  const tell = () => poller.tell({ [Symbol.iterator]: computed });
  const iterator = poller.iterate({});
  tell();
  expect(computed).not.toHaveBeenCalled();
  iterator[Symbol.asyncIterator]();
  tell();
  expect(computed).toHaveBeenCalledOnce();
  await iterator.return();
  tell();
  expect(computed).toHaveBeenCalledOnce();
});

test('ChangePoller looks when what is held is too old, and not a millisecond before', async () => {
  const { poller, atMs } = openPoller();
  const iterator = poller.iterate({});
  await vi.advanceTimersByTimeAsync(499);
  void iterator.next();
  expect(atMs()).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(atMs()).toEqual([500]);
  await iterator.return();
});

test('ChangePoller looks again a second after a failure, then after twice as long each time, and at last after a minute', async () => {
  const { poller, atMs } = openPoller(() => Promise.reject(new Error('an outage')));
  const iterator = poller.iterate({});
  const next = iterator.next();
  await vi.advanceTimersByTimeAsync(184_000);
  expect(atMs()).toEqual([500, 1_500, 3_500, 7_500, 15_500, 31_500, 63_500, 123_500, 183_500]);
  await iterator.return();
  expect(await next).toMatchObject({ done: true });
});

test('ChangePoller looks as often as before once a look has succeeded, and a second after the next failure', async () => {
  const { poller, atMs } = openPoller((times) => (times === 3 ? Promise.resolve() : Promise.reject(new Error('an outage'))));
  const iterator = poller.iterate({});
  void iterator.next();
  await vi.advanceTimersByTimeAsync(5_500);
  expect(atMs()).toEqual([500, 1_500, 3_500, 4_000, 5_000]);
  await iterator.return();
});

test.each([
  { retryAt: new Date(NOW_MS + 90_000), title: 'after a minute and a half', secondAtMs: 90_000 },
  { retryAt: new Date(NOW_MS + 700), title: 'in its pause', secondAtMs: 1_500 },
  { retryAt: new Date(NOW_MS - 90_000), title: 'before the failure', secondAtMs: 1_500 },
  { retryAt: NOW_MS + 90_000, title: 'in a form that it does not know', secondAtMs: 1_500 },
])('ChangePoller waits for a key that opens $title', async ({ retryAt, secondAtMs }) => {
  const { poller, atMs } = openPoller((times) => (times === 1 ? Promise.reject({ kind: 'rate-limit', retryAt }) : Promise.resolve()));
  const iterator = poller.iterate({});
  void iterator.next();
  await vi.advanceTimersByTimeAsync(secondAtMs);
  expect(atMs()).toEqual([500, secondAtMs]);
  await iterator.return();
});

test.each([{ kind: 'authentication' }, { kind: 'configuration' }, { kind: 'invalid-argument' }, { name: 'AbortError' }])(
  'ChangePoller ends all iterations with an error that no later list can mend: %j',
  async (failure) => {
    const { poller, atMs } = openPoller(() => Promise.reject(failure));
    const [one, other] = [poller.iterate({}), poller.iterate({})];
    const ended = [rejectionOf(one.next()), rejectionOf(other.next())];
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await Promise.all(ended)).toEqual([failure, failure]);
    expect([atMs(), vi.getTimerCount()]).toEqual([[500], 0]);
  },
);

test('ChangePoller makes one look at a time, at the pace of the fastest consumer', async () => {
  const { poller, looks } = openPoller(() => new Promise(() => {}));
  const ages = [3_000, 2_000, 4_000];
  const iterators = ages.map((maxAgeMs) => poller.iterate({ maxAgeMs }));
  for (const iterator of iterators) void iterator.next();
  poller.iterate({ maxAgeMs: 1_000 })[Symbol.asyncIterator]();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(looks).toMatchObject([{ atMs: 2_000, maxAgeMs: 2_000 }]);
  for (const iterator of iterators) await iterator.return();
});

test('ChangePoller looks at once for a consumer that comes after it stopped looking, since an abort is not a failure', async () => {
  const { poller, looks, atMs } = openPoller(
    (times) => new Promise((_resolve, reject) => looks[times - 1]?.signal.addEventListener('abort', () => reject(new Error('aborted')))),
  );
  const first = poller.iterate({ maxAgeMs: 0 });
  const pending = first.next();
  await first.return();
  expect(await pending).toMatchObject({ done: true });
  expect(looks.map(({ signal }) => signal.aborted)).toEqual([true]);
  await soFar(pending);
  const second = poller.iterate({ maxAgeMs: 0 });
  const next = second.next();
  expect([atMs(), await soFar(next)]).toEqual([[0, 0], 'pending']);
  await second.return();
});

test('ChangePoller keeps the process alive while a consumer waits for a change, and lets it end while all are busy', async () => {
  const setTimer = vi.spyOn(globalThis, 'setTimeout');
  const keepsProcess = () => setTimer.mock.results.at(-1)?.value.hasRef();
  const { poller } = openPoller();
  const [one, other] = [poller.iterate({}), poller.iterate({})];
  const [first] = [one.next(), other.next()];
  expect(keepsProcess()).toBe(true);
  poller.tell([change(5)]);
  expect([(await first)?.value?.after?.quantity, keepsProcess()]).toEqual([5, false]);
  poller.tell([change(6)]);
  await other.next();
  expect(keepsProcess()).toBe(false);
  void other.next();
  expect(keepsProcess()).toBe(true);
  await Promise.all([one.return(), other.return()]);
  expect(vi.getTimerCount()).toBe(0);
});

test('pauseMsAfter doubles from a second on', () => {
  expect([1, 2, 3, 8, 2_000].map(pauseMsAfter)).toEqual([1_000, 2_000, 4_000, 128_000, Number.POSITIVE_INFINITY]);
});
