import { describe, expect, test } from 'vitest';
import { durationOption, untilOption } from '../../src/cli/option-values.ts';

/** On this machine's clock. */
const NOW_MS = new Date(2026, 10, 21, 22, 30).getTime();

test.each([
  ['90s', 90_000],
  ['10m', 600_000],
  ['10min', 600_000],
  ['1h30m', 5_400_000],
  ['1.5h', 5_400_000],
  ['500ms', 500],
  ['7d', 604_800_000],
])('durationOption reads %s', (text, ms) => {
  expect(durationOption('max-wait', text)).toBe(ms);
});

test.each(['', '10', '-1m', '1y', '10 m', 'soon', '1m1'])('durationOption refuses "%s"', (text) => {
  expect(() => durationOption('max-wait', text)).toThrow(`Cannot use --max-wait ${text}: it must be a time such as 30s, 10m or 1h30m`);
});

test.each(['0s', '8d'])('durationOption refuses %s for its length', (text) => {
  expect(() => durationOption('timeout', text)).toThrow(`Cannot use --timeout ${text}: it must be longer than 0s, and at most 7d`);
});

describe('untilOption', () => {
  test.each([
    ['23:00', new Date(2026, 10, 21, 23, 0)],
    ['06:00', new Date(2026, 10, 22, 6, 0)],
    ['6:00:30', new Date(2026, 10, 22, 6, 0, 30)],
    ['22:30', new Date(2026, 10, 22, 22, 30)],
    ['90m', new Date(2026, 10, 22, 0, 0)],
    ['2026-11-24T06:00:00Z', new Date('2026-11-24T06:00:00Z')],
  ])('reads %s', (text, at) => {
    expect(untilOption(text, NOW_MS)).toBe(at.getTime());
  });

  test.each(['24:00', '12', '2026-11-24', 'dawn'])('refuses %s', (text) => {
    expect(() => untilOption(text, NOW_MS)).toThrow(`Cannot use --until ${text}: it must be a time of day such as 06:00`);
  });

  test.each(['2026-11-20T06:00Z', '2027-11-20T06:00Z', '0s', '8d'])('refuses %s for what it means', (text) => {
    expect(() => untilOption(text, NOW_MS)).toThrow(`Cannot use --until ${text}: it must be later than now, and within the next 7 days`);
  });
});
