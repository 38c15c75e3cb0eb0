import { describe, expect, test, vi } from 'vitest';
import { ResponseBody } from '../../src/undici/response-body.ts';

const [ONE, TWO] = [new Uint8Array([1]), new Uint8Array([2])];

function makeBody(...chunks: Uint8Array<ArrayBuffer>[]): ResponseBody {
  const body = new ResponseBody({ pause: vi.fn(), resume: vi.fn(), abort: vi.fn() }, vi.fn());
  for (const chunk of chunks) body.push(chunk);
  return body;
}

describe('ResponseBody.takeWhole', () => {
  test('gives all chunks once the body has ended, and leaves none to read', async () => {
    const body = makeBody(ONE, TWO);
    body.end();
    expect(body.takeWhole(2)).toEqual([ONE, TWO]);
    expect(await body.read()).toEqual({ value: undefined, done: true });
  });

  test('gives nothing, and leaves all chunks to read, before the end or if the body is larger', async () => {
    const [open, large] = [makeBody(ONE), makeBody(ONE, TWO)];
    large.end();
    expect([open.takeWhole(2), large.takeWhole(1)]).toEqual([undefined, undefined]);
    expect([await open.read(), await large.read()]).toEqual([
      { value: ONE, done: false },
      { value: ONE, done: false },
    ]);
  });

  test('gives nothing of a body that failed', async () => {
    const body = makeBody(ONE);
    body.fail('broken');
    expect(body.takeWhole(2)).toBeUndefined();
    await body.read();
    await expect(body.read()).rejects.toBe('broken');
  });
});

test('A body pauses its connection while more than 64 KiB of it wait to be read, and resumes it once they are read', async () => {
  const [pause, resume] = [vi.fn(), vi.fn()];
  const body = new ResponseBody({ pause, resume, abort: vi.fn() }, vi.fn());
  body.push(new Uint8Array(65_536));
  expect(pause).not.toHaveBeenCalled();
  body.push(ONE);
  await body.read();
  expect([pause.mock.calls.length, resume.mock.calls.length]).toEqual([1, 0]);
  await body.read();
  body.push(ONE);
  expect([pause.mock.calls.length, resume.mock.calls.length]).toEqual([1, 1]);
});

test('A body whose connection cannot be dropped is cancelled all the same', async () => {
  const abort = () => {
    throw new Error('cannot abort');
  };
  const body = new ResponseBody({ pause: vi.fn(), resume: vi.fn(), abort }, vi.fn());
  body.push(ONE);
  await body.cancel();
  expect(await body.read()).toEqual({ value: undefined, done: true });
});
