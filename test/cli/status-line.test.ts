import { beforeEach, expect, test, vi } from 'vitest';
import { progressBar, progressText, StatusLine } from '../../src/cli/status-line.ts';
import type { SyncProgress } from '../../src/sync/index.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

const CLEAR_LINE = '\r\u001b[2K';

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

test('StatusLine draws changes at most ten times a second, and always draws the latest', () => {
  const terminal = new FakeTerminal({ isTTY: true });
  const status = StatusLine.of(terminal);
  status.show({ progress: '1/3' });
  status.show({ progress: '2/3' });
  status.show({ progress: '3/3' });
  vi.advanceTimersByTime(99);
  expect(terminal.err).toBe(`${CLEAR_LINE}1/3`);
  vi.advanceTimersByTime(1);
  expect(terminal.err).toBe(`${CLEAR_LINE}1/3${CLEAR_LINE}3/3`);
});

test('StatusLine does not draw an unchanged line again', () => {
  const terminal = new FakeTerminal({ isTTY: true });
  StatusLine.of(terminal).show({ progress: '1/3' });
  vi.advanceTimersByTime(1_000);
  StatusLine.of(terminal).show({ progress: '1/3', wait: '' });
  expect(terminal.err).toBe(`${CLEAR_LINE}1/3`);
});

test('StatusLine keeps to one row of its terminal', () => {
  const terminal = new FakeTerminal({ isTTY: true });
  StatusLine.of(terminal).show({ progress: 'x'.repeat(100) });
  expect(terminal.err).toBe(`${CLEAR_LINE}${'x'.repeat(79)}`);
});

test('StatusLine shows a wait instead of the bar', () => {
  const terminal = new FakeTerminal({ isTTY: true });
  StatusLine.of(terminal).show({ bar: '██░', progress: '2/3', wait: 'waiting' });
  vi.advanceTimersByTime(100);
  StatusLine.of(terminal).show({ wait: '' });
  expect(terminal.err).toBe(`${CLEAR_LINE}waiting; 2/3${CLEAR_LINE}██░ 2/3`);
});

test('StatusLine stays below the lines that are written', () => {
  const terminal = new FakeTerminal({ isTTY: true });
  StatusLine.of(terminal).show({ progress: '1/3' });
  StatusLine.of(terminal).tell('a word');
  expect(terminal.err).toBe(`${CLEAR_LINE}1/3${CLEAR_LINE}a word\n1/3`);
});

test('StatusLine that was cleared leaves an empty line, and draws nothing later', () => {
  const terminal = new FakeTerminal({ isTTY: true });
  StatusLine.of(terminal).show({ progress: '1/3' });
  StatusLine.of(terminal).show({ progress: '2/3' });
  StatusLine.of(terminal).clear();
  expect(vi.getTimerCount()).toBe(0);
  StatusLine.of(terminal).tell('the end');
  expect(terminal.err).toBe(`${CLEAR_LINE}1/3${CLEAR_LINE}the end\n`);
});

test('StatusLine that was cleared can be drawn again', () => {
  const terminal = new FakeTerminal({ isTTY: true });
  StatusLine.of(terminal).show({ bar: '█', progress: '1/3' });
  StatusLine.of(terminal).clear();
  StatusLine.of(terminal).show({ wait: 'waiting' });
  expect(terminal.err).toBe(`${CLEAR_LINE}█ 1/3${CLEAR_LINE}${CLEAR_LINE}waiting`);
});

test('StatusLine assumes the usual width for a terminal that reports none', () => {
  const terminal = new FakeTerminal({ isTTY: true });
  Object.assign(terminal.stderr, { columns: 0 });
  StatusLine.of(terminal).show({ progress: 'x'.repeat(100) });
  expect(terminal.err).toBe(`${CLEAR_LINE}${'x'.repeat(79)}`);
});

test.each([
  ['no terminal', new FakeTerminal()],
  ['a terminal that cannot draw', new FakeTerminal({ isTTY: true, env: { TERM: 'dumb' } })],
])('StatusLine of %s shows nothing, and writes lines as they are', (_what, terminal) => {
  StatusLine.of(terminal).show({ progress: '1/3' });
  StatusLine.of(terminal).tell('a word');
  StatusLine.of(terminal).clear();
  expect(terminal.err).toBe('a word\n');
});

const UPDATING: SyncProgress = {
  phase: 'updating',
  wanted: 9,
  duplicates: 0,
  listed: 9,
  changes: 8,
  updated: 0,
  unchanged: 1,
  missing: 0,
  failed: 0,
  requests: 1,
};

test.each([
  [{}, 0],
  [{ updated: 2 }, 6],
  [{ updated: 2, failed: 2 }, 12],
  [{ updated: 8 }, 24],
  [{ changes: 0 }, 0],
])('progressBar of %o has %i of 24 parts', (done, parts) => {
  expect(progressBar({ ...UPDATING, ...done })).toBe('█'.repeat(parts) + '░'.repeat(24 - parts));
});

test.each([
  [{ phase: 'listing', listed: 2_000 }, 'reading the list: 2,000 pets'],
  [{ phase: 'done', listed: 0 }, 'reading the list: 0 pets'],
  [{ updated: 2, requests: 3, etaMs: 7_000 }, '2/8, 3 requests, 7 s left'],
  [{ updated: 2, failed: 1, requests: 4, etaMs: 0 }, '3/8, 1 failed, 4 requests, 0 s left'],
] as const)('progressText of %o is %s', (progress, text) => {
  expect(progressText({ ...UPDATING, ...progress })).toBe(text);
});
