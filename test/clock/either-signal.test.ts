import { expect, test } from 'vitest';
import { eitherSignal } from '../../src/clock/either-signal.ts';

test.each([0, 1])('eitherSignal aborts with signal %i and its reason, whatever the other signal does later', (first) => {
  const controllers = [new AbortController(), new AbortController()];
  const [one, other] = controllers.map(({ signal }) => signal);
  const { signal } = eitherSignal(one ?? AbortSignal.abort(), other);
  controllers[first]?.abort('first');
  controllers[1 - first]?.abort('second');
  expect([signal.aborted, signal.reason]).toEqual([true, 'first']);
});

test('eitherSignal is aborted if one of the two is', () => {
  expect(eitherSignal(new AbortController().signal, AbortSignal.abort('before')).signal.reason).toBe('before');
});

test('eitherSignal is the first signal if there is no other', () => {
  const { signal } = new AbortController();
  expect(eitherSignal(signal, undefined).signal).toBe(signal);
});

test('eitherSignal follows neither once it is stopped', () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const { signal, stop } = eitherSignal(one.signal, other.signal);
  stop();
  one.abort();
  other.abort();
  expect(signal.aborted).toBe(false);
});
