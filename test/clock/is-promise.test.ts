import { expect, onTestFinished, test, vi } from 'vitest';
import { isPromise } from '../../src/clock/is-promise.ts';

test('isPromise recognises the promise of an async function, whatever the global Promise is', () => {
  vi.stubGlobal('Promise', class extends Promise<unknown> {});
  onTestFinished(() => void vi.unstubAllGlobals());
  expect(isPromise((async () => {})())).toBe(true);
});

test.each([[[]], [{ petId: 1 }], ['text'], [undefined], [null]])('isPromise is false for %j', (value) => {
  expect(isPromise(value)).toBe(false);
});
