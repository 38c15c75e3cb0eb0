import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Interruption } from '../../src/cli/exit-code.ts';
import { takeLock } from '../../src/cli/job-lock.ts';
import { type LockExchange, openState, type SharedState } from '../../src/cli/state.ts';
import { QuotaFile } from '../../src/node/quota-file.ts';
import { FakeTerminal } from './support/fake-terminal.ts';
import { jobFolder } from './support/job-folder.ts';

describe('--lock', () => {
  test('lets one of two runs start, says who holds the lock, and is free afterwards', async () => {
    const { served, sync, file } = await jobFolder();
    const words = ['--lock', 'restock', '--quota-store', `file:${file('q.db')}`];
    served.sandbox.faults.add({ delayMs: 400, when: ({ method }) => method === 'PATCH' });
    const runs = await Promise.all([sync('petId,adjust\n1,1\n', words), sync('petId,adjust\n1,1\n', words)]);
    const [done, refused] = runs.toSorted((one, other) => one.code - other.code);
    expect([done?.code, refused?.code, refused?.out]).toEqual([0, 1, '']);
    expect(refused?.err).toMatch(
      /^petstore: Cannot start: the lock restock in file:q\.db is held by process \d+ on \S+, since 20\S+Z; if that process has died, the lock expires in \d+ s, and the next run waits 15 s before it takes it /,
    );
    expect((await sync('petId,adjust\n1,1\n', words)).code).toBe(0);
    expect(served.sandbox.inventory.get(1)?.quantity).toBe(7);
  });

  test('is not taken by a dry run, and does not block a lock of another name', async () => {
    const { file, sync } = await jobFolder();
    const store = ['--quota-store', `file:${file('q.db')}`];
    const state = await openState({ quotaStore: `file:${file('q.db')}` }, new FakeTerminal());
    await state?.lock('restock')({ id: 'other', text: '{}', heldMs: 60_000 });
    state?.close();
    expect((await sync('petId,adjust\n1,1\n', ['--lock', 'restock', '--dry-run', ...store])).code).toBe(0);
    expect((await sync('petId,adjust\n1,1\n', ['--lock', 'other', ...store])).code).toBe(0);
    expect(await sync('petId,adjust\n1,1\n', ['--lock', 'restock', ...store])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is held by another program; if that process has died, the lock expires in [3-6]\d s, /),
    });
  });

  test('is waited for until the first interrupt, which does not speak of requests under way', async () => {
    const { served, file, sync } = await jobFolder();
    const store = ['--quota-store', `file:${file('q.db')}`];
    const state = await openState({ quotaStore: `file:${file('q.db')}` }, new FakeTerminal());
    await state?.lock('restock')({ id: 'dead', text: '{}', heldMs: 1 });
    state?.close();
    const terminal = new FakeTerminal();
    const running = sync('petId,adjust\n1,1\n', ['--lock', 'restock', ...store], terminal);
    await expect.poll(() => terminal.err).toContain('waiting 15 s');
    terminal.interrupt();
    const waiting = 'waiting 15 s, since the lock restock in file:q.db may still be held by another program';
    expect(await running).toEqual({ code: 130, out: '', err: `petstore: ${waiting}\npetstore: interrupted\n` });
    expect(served.sandbox.requests).toEqual([]);
  });

  test('ends the run with 1 if it is lost, even if the last request is answered', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { served, sync, file } = await jobFolder();
    served.sandbox.faults.add({ delayMs: 400, when: ({ method }) => method === 'PATCH' });
    const running = sync('petId,adjust\n1,1\n', ['--lock', 'restock', '--quota-store', `file:${file('q.db')}`]);
    await expect.poll(() => served.sandbox.requests.at(-1)?.method).toBe('PATCH');
    const records = new QuotaFile(file('q.db'));
    records.change('lock:restock', Date.now, () => ({ record: '{}', response: undefined }));
    records.close();
    await vi.advanceTimersByTimeAsync(10_000);
    vi.useRealTimers();
    const lost = 'petstore: the lock restock in file:q.db was lost while the last requests were under way; another run may have begun';
    expect(await running).toEqual({ code: 1, out: '1 updated, 0 unchanged, 0 missing, 0 failed, 0 pending\n', err: `${lost}\n` });
  });

  test('is released before the result is written, whose reader may pause, and no interrupt then speaks of requests under way', async () => {
    const { sync, file } = await jobFolder();
    const words = ['--lock', 'restock', '--quota-store', `file:${file('q.db')}`];
    const terminal = new FakeTerminal();
    const reader = terminal.pauseReader();
    const running = sync('petId,adjust\n1,1\n', words, terminal);
    await expect.poll(reader.isWaitedFor).toBe(true);
    expect((await sync('petId,adjust\n1,1\n', words)).code).toBe(0);
    terminal.interrupt();
    reader.read();
    expect(await running).toEqual({ code: 0, out: '1 updated, 0 unchanged, 0 missing, 0 failed, 0 pending\n', err: '' });
  });

  test('is released once the report is written', async () => {
    const { sync, file } = await jobFolder();
    const { change } = QuotaFile.prototype;
    const seen: [string, boolean][] = [];
    const spy = vi.spyOn(QuotaFile.prototype, 'change').mockImplementation(function (this: QuotaFile, ...args) {
      seen.push([args[0], existsSync(file('r.txt'))]);
      return Reflect.apply(change, this, args);
    });
    onTestFinished(() => spy.mockRestore());
    const words = ['--lock', 'restock', '--quota-store', `file:${file('q.db')}`, '--report', file('r.txt')];
    expect((await sync('petId,adjust\n1,1\n', words)).code).toBe(0);
    expect(seen.filter(([name]) => name === 'lock:restock').map(([, isReported]) => isReported)).toEqual([false, true]);
  });

  test.each([
    [['--lock', 'a b'], 'Cannot use --lock a b: it must be a name'],
    [['--lock', 'job', '--no-state'], 'Cannot use --lock with --no-state, which shares nothing; leave one out\n'],
  ])('as %j is refused, by a dry run too', async (words, reason) => {
    const { served, sync } = await jobFolder();
    const refused = { code: 2, err: expect.stringContaining(reason) };
    expect(await sync('petId,adjust\n1,1\n', words)).toMatchObject(refused);
    expect(await sync('petId,adjust\n1,1\n', [...words, '--dry-run'])).toMatchObject(refused);
    expect(served.sandbox.requests).toEqual([]);
  });
});

test.skipIf(process.platform !== 'linux')(
  '--lock and --reset fail with 1 if the state of this user cannot be opened, and say why',
  async () => {
    const { served, sync, run } = await jobFolder();
    const terminal = () => new FakeTerminal({ env: { XDG_STATE_HOME: '/dev/null' } });
    const failed = (option: string) => ({
      code: 1,
      out: '',
      err: expect.stringMatching(
        new RegExp(`^petstore: Cannot use ${option} without the state that runs share: ENOTDIR.*; name a place with --quota-store .*\\n$`),
      ),
    });
    expect(await sync('petId,adjust\n1,1\n', ['--lock', 'job'], terminal())).toEqual(failed('--lock'));
    expect(await sync('petId,adjust\n1,1\n', ['--lock', 'job', '--dry-run'], terminal())).toEqual(failed('--lock'));
    expect(await run(['quota', '--reset'], terminal())).toEqual(failed('--reset'));
    expect(served.sandbox.requests).toEqual([]);
  },
);

describe('takeLock', () => {
  /** A lock in memory, which a test can take from its holder. */
  let held: { id: string; text: string; untilMs: number } | undefined;
  let isAway: boolean;
  let hangs: boolean;
  let answerMs: number;
  const lost = vi.fn<(interruption: Interruption) => void>();

  const exchange: LockExchange = async ({ id, text, heldMs, takesVoid, isLate }) => {
    if (isAway) throw new Error('away');
    if (hangs) await new Promise(() => {});
    if (answerMs > 0) await new Promise((resolve) => setTimeout(resolve, answerMs));
    if (isLate && held?.id !== id) return { text: '', leftMs: 0 };
    const leftMs = (held?.untilMs ?? 0) - Date.now();
    const isVoid = leftMs > 90_000 && !takesVoid;
    if (held && held.id !== id && leftMs > 0 && (isVoid || leftMs <= 90_000)) return { text: held.text, leftMs, isVoid };
    held = { id, text, untilMs: Date.now() + heldMs };
    return undefined;
  };
  const state: SharedState = {
    name: 'memory',
    quotaStore: { processes: 1, isCheap: true, join: () => expect.unreachable() },
    forget: async () => {},
    lock: () => exchange,
    close: () => {},
  };
  const terminal = new FakeTerminal();
  const take = (signal = new AbortController().signal) => takeLock({ name: 'restock', state, onLost: lost, signal, terminal });

  beforeEach(() => {
    held = undefined;
    isAway = false;
    hangs = false;
    answerMs = 0;
    lost.mockClear();
    vi.useFakeTimers({ now: 0 });
    return () => void vi.useRealTimers();
  });

  test('holds it for as long as the job runs', async () => {
    const lock = await take();
    await vi.advanceTimersByTimeAsync(3_600_000);
    await expect(take()).rejects.toThrow(`is held by process ${process.pid} on ${hostname()}, since 1970-01-01T00:00:00.000Z`);
    await lock.release();
    await (await take()).release();
    expect(lost).not.toHaveBeenCalled();
  });

  test('takes a lock whose holder died 30 s ago', async () => {
    held = { id: 'dead', text: '{"id":"dead","host":"web-2","pid":812,"since":"then"}', untilMs: 30_000 };
    await expect(take()).rejects.toThrow(
      'is held by process 812 on web-2, since then; if that process has died, the lock expires in 30 s, and the next run waits 15 s before it takes it',
    );
    await vi.advanceTimersByTimeAsync(30_000);
    await (await take()).release();
  });

  test('promises no wait if the store itself frees a lock that expires, as Redis does', async () => {
    vi.spyOn(state, 'lock').mockReturnValue(async () => ({ text: '{}', leftMs: 28_000 }));
    await expect(take()).rejects.toThrow(/; if that process has died, the lock is free in 28 s$/);
    vi.restoreAllMocks();
  });

  const FUTURE = { id: 'ahead', text: '{"id":"ahead","host":"web-2","pid":812,"since":"then"}', untilMs: 3_600_000 };

  test('takes a lock from the future only if its holder does not renew it meanwhile', async () => {
    held = FUTURE;
    const taking = take();
    await vi.advanceTimersByTimeAsync(14_999);
    expect(held.id).toBe('ahead');
    expect(terminal.err).toBe(
      'petstore: waiting 15 s, since the lock restock in memory may still be held by process 812 on web-2, since then\n',
    );
    await vi.advanceTimersByTimeAsync(1);
    await (await taking).release();
    held = FUTURE;
    const refused = expect(take()).rejects.toThrow('is held by process 812 on web-2, since then; if that process has died');
    await vi.advanceTimersByTimeAsync(10_000);
    held = { ...FUTURE, untilMs: Date.now() + 30_000 };
    await vi.advanceTimersByTimeAsync(5_000);
    await refused;
  });

  test('stops to wait for that when the run is interrupted', async () => {
    held = FUTURE;
    const controller = new AbortController();
    const refused = expect(take(controller.signal)).rejects.toThrow('interrupted');
    await vi.advanceTimersByTimeAsync(1_000);
    controller.abort(new Error('interrupted'));
    await refused;
    expect([held.id, vi.getTimerCount()]).toEqual(['ahead', 0]);
  });

  test('ends the job if another run has taken the lock', async () => {
    const lock = await take();
    held = { id: 'thief', text: '{}', untilMs: 40_000 };
    await vi.advanceTimersByTimeAsync(10_000);
    expect(lost.mock.lastCall?.[0]).toMatchObject({ message: 'the lock restock in memory was lost', exitCode: 1 });
    await lock.release();
  });

  test('fails if the store does not answer, and ends a job whose store stops answering', async () => {
    const lock = await take();
    const { promise } = Promise.withResolvers<undefined>();
    vi.spyOn(state, 'lock').mockReturnValue(() => promise);
    const refused = expect(take()).rejects.toThrow('Cannot take the lock: memory did not answer within 5 s');
    await vi.advanceTimersByTimeAsync(5_000);
    await refused;
    vi.restoreAllMocks();
    hangs = true;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(lost).toHaveBeenCalled();
    hangs = false;
    await lock.release();
  });

  test('ends the job before the lock expires if the store cannot be reached', async () => {
    const lock = await take();
    await vi.advanceTimersByTimeAsync(15_000);
    isAway = true;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(lost).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(lost).toHaveBeenCalledOnce();
    await lock.release();
  });

  test('ends the job as early if the store took its time to answer before', async () => {
    answerMs = 5;
    const taking = take();
    await vi.advanceTimersByTimeAsync(10_020);
    const lock = await taking;
    isAway = true;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(lost).toHaveBeenCalledOnce();
    const releasing = lock.release();
    await vi.advanceTimersByTimeAsync(5);
    await releasing;
  });

  test('ends a job that stood still for so long that another run may have held the lock, even if it is free again', async () => {
    const lock = await take();
    const stoppedAtMs = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => stoppedAtMs + 50_000);
    held = undefined;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(lost.mock.lastCall?.[0]).toMatchObject({ message: 'the lock restock in memory was lost', exitCode: 1 });
    vi.restoreAllMocks();
    await lock.release();
  });

  test('goes on with a job that stood still while nobody else held the lock', async () => {
    const lock = await take();
    const stoppedAtMs = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => stoppedAtMs + 50_000);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(lost).not.toHaveBeenCalled();
    vi.restoreAllMocks();
    await lock.release();
  });

  test('ends the job in time if the clock is set back while the store cannot be reached', async () => {
    const lock = await take();
    isAway = true;
    vi.setSystemTime(-3_600_000);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(lost).toHaveBeenCalledOnce();
    await lock.release();
  });

  test('takes a lock whose record is damaged after the time in which its holder renews it', async () => {
    held = { id: '', text: '{"id":', untilMs: 3_600_000 };
    const taking = take();
    await vi.advanceTimersByTimeAsync(15_000);
    await (await taking).release();
    expect(terminal.err).toContain('waiting 15 s, since the lock restock in memory may still be held by another program\n');
  });
});
