import { expect, test } from 'vitest';
import { fieldOf } from '../../src/thrown.ts';
import { routeFailure } from '../../src/undici/route-failure.ts';

const attempt = { url: new URL('https://pets.test/v1'), proxies: undefined, starts: 1, hasAnswered: false };

test.each([
  [true, 'before the answer', false],
  [false, 'in the body of the answer', true],
])('a refused stream proves %s that nothing was processed, if it comes %s', (isUnsent, _when, hasAnswered) => {
  const refused = Object.assign(new Error('stream error'), { http2ErrorCode: 7 });
  expect(routeFailure(refused, { ...attempt, hasAnswered }).cause).toMatchObject({ isUnsent });
});

test.each([
  ['a refused stream of undici 8, which sends it again itself', { http2ErrorCode: 7 }, 2],
  ['a stream after a GOAWAY of undici 8, which sends it again itself', { code: 'UND_ERR_INFO', message: 'HTTP/2: "GOAWAY" frame' }, 2],
  ['a refused stream of undici 7', { message: 'Stream closed with error code NGHTTP2_REFUSED_STREAM' }, 1],
  ['the 407 of a proxy', { message: 'Proxy Authentication Required (407)' }, 1],
  ['the alert about a client certificate', { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' }, 1],
])('%s proves nothing about a request that was sent more often', (_what, fields, most) => {
  const thrown = Object.assign(new Error(), fields);
  const provesFor = [1, 2, 3].filter((starts) => fieldOf(routeFailure(thrown, { ...attempt, starts }).cause, 'isUnsent'));
  expect(provesFor).toEqual([1, 2].slice(0, most));
});

test('errors of an AggregateError that cannot be read count as none', () => {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  const thrown = Object.assign(new Error('no address answered'), { errors: proxy });
  expect(routeFailure(thrown, attempt).cause).toMatchObject({ message: 'no address answered', setting: undefined });
});
