import { PassThrough } from 'node:stream';
import { beforeEach, expect, test, vi } from 'vitest';
import { ReaderGoneError, writeResult, writeResults, writeText } from '../../src/cli/terminal.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

/** A stream whose reader has paused: it takes one text, and no other. */
function paused(): PassThrough {
  const stream = new PassThrough({ highWaterMark: 1 });
  stream.write('taken');
  return stream;
}

const ended = new Error('terminated');

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

test('writeText waits for a reader who pauses', async () => {
  const stream = paused();
  const writing = writeText(stream, 'text', { signal: new AbortController().signal });
  await vi.advanceTimersByTimeAsync(3_600_000);
  stream.resume();
  await expect(writing).resolves.toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});

test('writeText waits five seconds for a reader who pauses while the command is told to end', async () => {
  const command = new AbortController();
  const stream = paused();
  const writing = writeText(stream, 'text', { signal: command.signal });
  await vi.advanceTimersByTimeAsync(60_000);
  command.abort(ended);
  await vi.advanceTimersByTimeAsync(4_999);
  stream.resume();
  await expect(writing).resolves.toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});

test('writeText gives up a reader who pauses for longer', async () => {
  const command = new AbortController();
  const writings = [writeText(paused(), 'text', { signal: command.signal })];
  command.abort(ended);
  writings.push(writeText(paused(), 'text', { signal: command.signal }));
  const settled = Promise.allSettled(writings);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await settled).toEqual([
    { status: 'rejected', reason: ended },
    { status: 'rejected', reason: ended },
  ]);
});

test('writeResult takes a reader who pauses when the command is told to end for one that is gone', async () => {
  const writing = writeResult(paused(), 'text', { signal: AbortSignal.abort(ended) });
  await vi.advanceTimersByTimeAsync(5_000);
  await expect(writing).resolves.toBeUndefined();
});

test('writeResults fails if the reader pauses when the command is told to end, since the rest is not written', async () => {
  const writing = writeResults(paused(), ['text', 'rest'], { signal: AbortSignal.abort(ended) });
  const settled = expect(writing).rejects.toBe(ended);
  await vi.advanceTimersByTimeAsync(5_000);
  await settled;
});

test('writeText takes a terminal that was closed for a reader that is gone, and a broken disk for a failure', async () => {
  const closed = new FakeTerminal({ isTTY: true, stdoutError: 'EIO' });
  const broken = new FakeTerminal({ stdoutError: 'EIO' });
  await expect(writeText(closed.stdout, 'text')).rejects.toThrow(ReaderGoneError);
  await expect(writeText(broken.stdout, 'text')).rejects.toThrow('Cannot write to stdout: EIO: write');
});
