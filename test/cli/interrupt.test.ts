import { expect, onTestFinished, test, vi } from 'vitest';
import { interruptSignal } from '../../src/cli/interrupt.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

test('interruptSignal aborts at once, and without a warning, if its time is over', async () => {
  const warn = vi.fn();
  process.on('warning', warn);
  onTestFinished(() => void process.off('warning', warn));
  const { signal, stopListening } = interruptSignal(new FakeTerminal(), { until: { atMs: Date.now() - 5, option: '1ms' } });
  onTestFinished(stopListening);
  await vi.waitFor(() => expect(signal.aborted).toBe(true));
  expect([String(signal.reason), warn.mock.calls]).toEqual(['AbortError: the time is up (--until 1ms)', []]);
});
