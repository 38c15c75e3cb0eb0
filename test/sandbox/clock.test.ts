import { createSandbox } from 'petstore-inventory/sandbox';
import { expect, test } from 'vitest';
import { SandboxClock } from '../../src/sandbox/clock.ts';
import { asked } from './ask.ts';

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

test.each([
  [new Date(0), 'that object'],
  [Number.NaN, 'NaN'],
  ['1795219200000', '"1795219200000"'],
])('a sandbox says that its clock gives no number, but %o', async (time, shown) => {
  const options: object = { clock: () => time };
  const sandbox = createSandbox(options);
  const message = `Cannot use ${shown} as the time of \`clock\`: it must be a number of milliseconds, at most 1e13`;
  expect(() => sandbox.clock.now()).toThrow(message);
  await expect(asked(sandbox, '/inventory')).rejects.toThrow(message);
});

test('a sandbox says that its clock threw', async () => {
  const stopped = () => {
    throw new Error('it stopped');
  };
  const rule = { name: 'SandboxError', message: 'Cannot use `clock`: it threw Error: it stopped' };
  await expect(asked(createSandbox({ clock: stopped }), '/inventory')).rejects.toMatchObject(rule);
});

test.each([
  ['set', new Date('garbage'), 'Cannot use NaN as the time of the clock: it must be a number of milliseconds, at most 1e13'],
  ['set', 8.64e15 + 1, 'Cannot use 8640000000000001 as the time of the clock: it must be a number of milliseconds, at most 1e13'],
  ['advance', 1e13, 'Cannot use 10000000000005 as the time of the clock: it must be a number of milliseconds, at most 1e13'],
  ['set', null, 'Cannot use null as the time of the clock: it must be a number of milliseconds, at most 1e13'],
  ['advance', undefined, 'Cannot use undefined as the time to advance the clock: it must be a number of milliseconds, at most 1e13'],
  ['advance', '60000', 'Cannot use "60000" as the time to advance the clock: it must be a number of milliseconds, at most 1e13'],
] as const)('SandboxClock refuses %s(%o), and keeps its time', (method, time, message) => {
  const clock = new SandboxClock(() => 5);
  expect(() => Reflect.apply(clock[method], clock, [time])).toThrow(message);
  expect(clock.now()).toBe(5);
});

test('a sandbox says that its latency is no number', async () => {
  const message = 'Cannot use the function of a latency: it returned NaN, not a number';
  await expect(asked(createSandbox({ latency: () => Number.NaN }), '/inventory')).rejects.toThrow(message);
});
