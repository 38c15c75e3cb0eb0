import { expect, test } from 'vitest';
import { isBodyNetworkError, isNetworkError } from '../../src/transport/network-error.ts';
import { networkError } from '../support/answers.ts';

const withCode = (error: Error, code: string) => Object.assign(error, { code });

test.each<[string, unknown]>([
  ["Node's fetch, with a cause that has the system's code", networkError('ECONNRESET')],
  ["Bun's fetch, with the system's code", withCode(new TypeError('Unable to connect'), 'ECONNREFUSED')],
  ["Bun's fetch, with a code of TLS", withCode(new TypeError('unable to verify'), 'ERR_TLS_CERT_ALTNAME_INVALID')],
  ['workerd', new Error('Network connection lost.')],
  ["Deno's fetch", new TypeError('error sending request for url (https://pets.test/): connection closed')],
  ['Chromium', new TypeError('Failed to fetch')],
  ['Firefox', new TypeError('NetworkError when attempting to fetch resource.')],
  ['Safari', Object.assign(new TypeError('Load failed'), { stack: undefined })],
  ['ky, of a fetch that goes by it', Object.assign(new Error('Request failed'), { name: 'NetworkError' })],
  ['a fetch that ran out of its own time', new DOMException('late', 'TimeoutError')],
])('isNetworkError is true for the failure of %s', (_whose, thrown) => {
  expect(isNetworkError(thrown)).toBe(true);
});

test.each<[string, unknown]>([
  ['a TypeError of a program', new TypeError('x is not a function')],
  ['a RangeError', new RangeError('x')],
  ['a SyntaxError', new SyntaxError('Unexpected token')],
  ['an address that is none', withCode(new TypeError('Invalid URL'), 'ERR_INVALID_URL')],
  ['a text', 'gone'],
  ['nothing', undefined],
  ['an object', { name: 'NetworkError', code: 'ECONNRESET' }],
])('isNetworkError is false for %s', (_what, thrown) => {
  expect(isNetworkError(thrown)).toBe(false);
});

test('isBodyNetworkError is true for any TypeError, and for no other mistake', () => {
  const thrown = [new TypeError('error reading a body from connection'), networkError('ECONNRESET'), new RangeError('x'), 'gone'];
  expect(thrown.map(isBodyNetworkError)).toEqual([true, true, false, false]);
});
