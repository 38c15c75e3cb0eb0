import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { type Body, readUpTo } from '../../src/transport/body.ts';
import { FUZZ } from '../support/fuzz.ts';

function bodyOf(chunks: readonly Uint8Array[]): Body {
  const left = [...chunks];
  return { takeWhole: () => undefined, next: vi.fn(async () => left.shift()) };
}

const chunks = fc.array(fc.uint8Array({ maxLength: 20 }));

describe('readUpTo', () => {
  test('gives all bytes of a body within the cap, whatever its chunks', async () => {
    await fc.assert(
      fc.asyncProperty(chunks, async (pieces) => {
        const { bytes, isComplete } = await readUpTo(bodyOf(pieces), 400);
        expect([Buffer.concat(pieces).equals(bytes), isComplete]).toEqual([true, Buffer.concat(pieces).byteLength <= 400]);
      }),
      FUZZ,
    );
  });

  test('treats a body of exactly the cap as complete', async () => {
    expect(await readUpTo(bodyOf([new Uint8Array(6), new Uint8Array(4)]), 10)).toMatchObject({ isComplete: true });
    expect(await readUpTo(bodyOf([new Uint8Array(6), new Uint8Array(5)]), 10)).toMatchObject({ isComplete: false });
  });

  test('stops reading once the body exceeds the cap', async () => {
    const body = bodyOf([new Uint8Array(6), new Uint8Array(6), new Uint8Array(6)]);
    await readUpTo(body, 10);
    expect(body.next).toHaveBeenCalledTimes(2);
  });

  test('gives a body that has arrived whole at once', () => {
    const body = { takeWhole: () => [new Uint8Array([1, 2]), new Uint8Array([3])], next: vi.fn() };
    expect(readUpTo(body, 10)).toEqual({ bytes: new Uint8Array([1, 2, 3]), isComplete: true });
    expect(body.next).not.toHaveBeenCalled();
  });

  test('gives no bytes for an empty body', async () => {
    expect(await readUpTo(bodyOf([]), 10)).toEqual({ bytes: new Uint8Array(0), isComplete: true });
  });
});

test('readUpTo does not copy a single chunk', () => {
  const only = new Uint8Array([1, 2]);
  const read = readUpTo({ takeWhole: () => [only], next: vi.fn() }, 10);
  expect('bytes' in read && read.bytes).toBe(only);
});
