import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { rejectionOf } from '../support/outcome.ts';
import { half, ITEM, ITEMS, lab, ok, silence, textFor } from './lab.ts';
import { head, type Step, type Wire } from './raw-server.ts';

/** Sends half of a compressed body with the length of the whole, and closes the connection. */
function halfCompressed(coding: string, compress: (text: string) => Uint8Array): Step {
  return (wire) => {
    const bytes = compress(textFor(wire));
    wire.write(head(200, { 'Content-Encoding': coding, 'Content-Length': bytes.length }));
    wire.end(bytes.subarray(0, bytes.length / 2));
  };
}

/** Sends half of a body that was compressed as if it were all of it. */
function cutCompressed(coding: string, compress: (text: string) => Uint8Array): Step {
  return (wire) => {
    const bytes = compress(textFor(wire));
    wire.answer(200, bytes.subarray(0, bytes.length / 2), { 'Content-Encoding': coding });
  };
}

/** Sends a body in one chunk (RFC 9112 section 7.1) and ends with `rest`. */
function chunked(sizeOf: (text: string) => string, rest: string): Step {
  return (wire) => wire.end(`${head(200, { 'Transfer-Encoding': 'chunked' })}${sizeOf(textFor(wire))}\r\n${textFor(wire)}\r\n${rest}`);
}

/** Sends half of a body whose only end is that of the connection (RFC 9112 section 6.3). */
function halfOfUnknownLength(end: (wire: Wire) => void): Step {
  return (wire) => {
    const text = textFor(wire);
    wire.write(head(200, { Connection: 'close' }) + text.slice(0, text.length / 2));
    setTimeout(() => end(wire), 20);
  };
}

const hex = (text: string) => text.length.toString(16);
const BROKEN: [string, Step][] = [
  ['is reset in the middle', half(({ reset }) => reset())],
  ['ends in the middle', half(({ end }) => end())],
  ['stops in the middle', half(silence)],
  ['has no length and is reset in the middle', halfOfUnknownLength(({ reset }) => reset())],
  ['has no length and ends in the middle', halfOfUnknownLength(({ end }) => end())],
  ['is all there, and shorter than announced', (wire) => wire.end(head(200, { 'Content-Length': 999 }) + textFor(wire))],
  ['is announced and does not begin', ({ write }) => write(head(200, { 'Content-Length': 50 }))],
  ['is chunked without a last chunk', chunked(hex, '')],
  ['is chunked and stops before its last chunk', (wire) => wire.write(`${head(200, { 'Transfer-Encoding': 'chunked' })}5\r\n[{"pe\r\n`)],
  ['has a chunk longer than told', chunked(() => '5', '0\r\n\r\n')],
  ['has a chunk shorter than told', chunked(() => 'fff', '0\r\n\r\n')],
  ['has a chunk size that is no number', chunked(() => 'zz', '0\r\n\r\n')],
  ['is gzip and ends in the middle', halfCompressed('gzip', gzipSync)],
  ['is deflate and ends in the middle', halfCompressed('deflate', deflateSync)],
  ['is brotli and ends in the middle', halfCompressed('br', brotliCompressSync)],
  ['is zstd and ends in the middle', halfCompressed('zstd', zstdCompressSync)],
  ['is gzip and cut within its length', cutCompressed('gzip', gzipSync)],
  ['is deflate and cut within its length', cutCompressed('deflate', deflateSync)],
  ['is brotli and cut within its length', cutCompressed('br', brotliCompressSync)],
  ['is zstd and cut within its length', cutCompressed('zstd', zstdCompressSync)],
  ['says gzip and is none', (wire) => wire.answer(200, textFor(wire), { 'Content-Encoding': 'gzip' })],
];

test.concurrent.each(BROKEN)(
  'a body that %s makes the call send its request again; when no retry is left, an update is in doubt',
  async (_name, broken) => {
    const options = { attemptTimeoutMs: 1_500 };
    await using list = await lab([broken, ok], options);
    await using update = await lab([broken, ok], options);
    await using hopeless = await lab([broken], { ...options, maxRetries: 0 });
    const answers = Promise.all([
      list.client.listInventory(),
      update.client.updateInventory(1, { quantity: 5 }),
      rejectionOf(hopeless.client.updateInventory(1, { quantity: 5 })),
    ]);
    expect(await answers).toMatchObject([ITEMS, ITEM, { kind: expect.stringMatching(/^(?:connection|timeout)$/), outcome: 'unknown' }]);
    expect([list, update].map(({ server }) => server.requests.length)).toEqual([2, 2]);
  },
);

const complete =
  (text: string | Uint8Array, headers = {}): Step =>
  ({ answer }: Wire) =>
    answer(200, text, headers);

test.concurrent.each<[string, Step, string]>([
  ['is empty', complete(''), 'invalid-json'],
  ['is empty and says gzip', complete('', { 'Content-Encoding': 'gzip' }), 'invalid-json'],
  ['is a page in gzip', complete(gzipSync('<html>'), { 'Content-Encoding': 'gzip' }), 'invalid-json'],
  ['is wrong in gzip', complete(gzipSync('[{"petId":1}]'), { 'Content-Encoding': 'gzip' }), 'schema'],
  ['is a page', complete('<html>hello</html>'), 'invalid-json'],
  ['is JSON cut off within its length', complete('[{"petId":1,'), 'invalid-json'],
  ['is not UTF-8', complete(Buffer.from([0x22, 0xff, 0xfe, 0x22])), 'invalid-utf8'],
  ['is not UTF-8 within a status', complete(Buffer.from('[{"petId":1,"quantity":1,"status":"\xff"}]', 'latin1')), 'invalid-utf8'],
  ['is UTF-16', complete(Buffer.from('[]', 'utf16le')), 'invalid-json'],
  ['is nested 100,000 deep', complete('['.repeat(100_000)), 'invalid-json'],
  ['continues after the list', complete('[][]'), 'invalid-json'],
  ['is null', complete('null'), 'schema'],
  ['has no length and is a page', ({ end }) => end(`${head(200, { Connection: 'close' })}<html>hello</html>`), 'invalid-json'],
  ['is chunked and empty', ({ end }) => end(`${head(200, { 'Transfer-Encoding': 'chunked' })}0\r\n\r\n`), 'invalid-json'],
])('a complete body that %s does not make the call send its request again', async (_name, step, reason) => {
  await using at = await lab([step, ok]);
  expect(await rejectionOf(at.client.listInventory())).toMatchObject({ name: 'InvalidResponseError', reason, attempts: 1, status: 200 });
  expect(at.server.requests).toHaveLength(1);
});

test.concurrent.each(['stall', 'end', 'reset', 'gzip'])(
  'an Error body that breaks (%s) does not change the class, which the status decides',
  async (how) => {
    const ends: Record<string, Step> = {
      stall: half(silence, 404),
      end: half(({ end }) => end(), 404),
      reset: half(({ reset }) => reset(), 404),
      gzip: ({ answer }) => answer(404, 'no gzip', { 'Content-Encoding': 'gzip' }),
    };
    await using at = await lab([ends[how] ?? ok], { attemptTimeoutMs: 1_500 });
    const error = await rejectionOf(at.client.updateInventory(1, { quantity: 5 }));
    expect(error).toMatchObject({ name: 'NotFoundError', status: 404, code: 'http_404', outcome: 'rejected', attempts: 1 });
  },
);
