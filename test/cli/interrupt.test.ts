import os from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Interruption } from '../../src/cli/exit-code.ts';
import { interruptSignal } from '../../src/cli/interrupt.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

const HOUR_MS = 3_600_000;

test('interruptSignal aborts at once, and without a warning, if its time is over', async () => {
  const warn = vi.fn();
  process.on('warning', warn);
  onTestFinished(() => void process.off('warning', warn));
  const { signal, stopListening } = interruptSignal(new FakeTerminal(), { until: { atMs: Date.now() - 5, option: '1ms' } });
  onTestFinished(stopListening);
  await expect.poll(() => signal.aborted).toBe(true);
  expect([String(signal.reason), warn.mock.calls]).toEqual(['AbortError: the time is up (--until 1ms)', []]);
});

test('interruptSignal counts the time in which the machine was suspended, and timers stood still, towards its time', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  vi.spyOn(os, 'uptime').mockImplementation(() => Date.now() / 1000);
  onTestFinished(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
  vi.resetModules();
  const fresh = await import('../../src/cli/interrupt.ts');
  const { signal, stopListening } = fresh.interruptSignal(new FakeTerminal(), { until: { atMs: Date.now() + 3 * HOUR_MS, option: '3h' } });
  onTestFinished(stopListening);
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  vi.setSystemTime(Date.now() + 2 * HOUR_MS);
  expect(signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(String(signal.reason)).toBe('AbortError: the time is up (--until 3h)');
});

test('interruptSignal ends the process at the second signal, even if something else aborted it before the first one', async () => {
  const terminal = new FakeTerminal();
  const { signal, end, stopListening } = interruptSignal(terminal, { notice: () => 'petstore: finishing' });
  onTestFinished(stopListening);
  end(new Interruption('the lock was lost', 1));
  terminal.interrupt();
  expect([terminal.exited, terminal.err]).toEqual([undefined, 'petstore: finishing\n']);
  terminal.interrupt();
  expect([terminal.exited, String(signal.reason)]).toEqual([130, 'AbortError: the lock was lost']);
});
