import { expect, test } from 'vitest';
import { SandboxClock } from '../../src/sandbox/clock.ts';

test('SandboxClock wakes a sleeper whose time has passed before the timer is set, and causes no warning', async () => {
  const warnings: Error[] = [];
  const hear = (warning: Error) => warnings.push(warning);
  process.on('warning', hear);
  // On a busy machine 30 ms may pass between two looks at the clock.
  let atMs = 0;
  const clock = new SandboxClock(() => {
    atMs += 30;
    return atMs;
  });
  await clock.sleep(20);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', hear);
  expect(warnings).toEqual([]);
});
