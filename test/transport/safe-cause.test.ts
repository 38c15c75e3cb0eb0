import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Redactor } from '../../src/redactor.ts';
import { causesOf, innermostCode, safeCause } from '../../src/transport/safe-cause.ts';

const KEY = 'psk_hunter2';

function knowing(): Redactor {
  const redactor = new Redactor();
  redactor.learn(KEY);
  return redactor;
}

function revokedList(): unknown[] {
  const { proxy, revoke } = Proxy.revocable<unknown[]>([], {});
  revoke();
  return proxy;
}

describe('causesOf', () => {
  test('gives an error and its causes, outermost first', () => {
    const inner = new Error('inner');
    const middle = new Error('middle', { cause: inner });
    const outer = new Error('outer', { cause: middle });
    expect(causesOf(outer)).toEqual([outer, middle, inner]);
  });

  test('follows the first error of several', () => {
    const first = new Error('first');
    const several = new AggregateError([first, new Error('second')]);
    expect(causesOf(several)).toEqual([several, first]);
  });

  test('ends if errors cause each other in a circle', () => {
    const one = new Error('one');
    one.cause = new Error('other', { cause: one });
    expect(causesOf(one)).toHaveLength(8);
  });

  test.each([undefined, null])('gives nothing for %s', (thrown) => {
    expect(causesOf(thrown)).toEqual([]);
  });
});

test('innermostCode gives the last code that is a string', () => {
  expect(innermostCode([{ code: 'E0' }, { code: 'E1' }, { code: 1 }, { code: '' }, {}, null, 'E2'])).toBe('E1');
});

describe('safeCause', () => {
  test('keeps name, message, code and stack of every cause', () => {
    const inner = Object.assign(new RangeError('connect refused'), { code: 'ECONNREFUSED' });
    const cause = safeCause(new TypeError('fetch failed', { cause: inner }), knowing());
    expect(cause).toMatchObject({ name: 'TypeError', message: 'fetch failed', stack: expect.stringContaining('safe-cause.test.ts') });
    expect(cause?.cause).toMatchObject({ name: 'RangeError', message: 'connect refused', code: 'ECONNREFUSED' });
  });

  test('gives an AggregateError without a message those of its errors', () => {
    const refused = (address: string) => new Error(`connect ECONNREFUSED ${address}:443 ${KEY}`);
    const cause = safeCause(new AggregateError([refused('::1'), refused('127.0.0.1')]), knowing());
    expect(cause?.message).toBe('connect ECONNREFUSED ::1:443 ***; connect ECONNREFUSED 127.0.0.1:443 ***');
    expect(cause?.cause).toMatchObject({ message: 'connect ECONNREFUSED ::1:443 ***' });
  });

  test.each([
    ['a proxy that throws', new Proxy([1], { get: () => expect.unreachable() })],
    ['a revoked proxy', revokedList()],
    ['a list with a `map` that throws', Object.assign([new Error('one')], { map: () => expect.unreachable() })],
  ])('takes an error whose `errors` are %s', (_what, errors) => {
    const thrown = Object.assign(new Error(''), { errors });
    expect(safeCause(thrown, knowing())).toMatchObject({ name: 'Error' });
    expect(safeCause(Object.assign(thrown, { cause: new Error('refused') }), knowing())?.cause).toMatchObject({ message: 'refused' });
  });

  test('keeps the places in the code that Firefox and Safari write, and no line of a message', () => {
    const firefox = [
      'send@https://shop.example/app.js:10:5',
      'async*@https://shop.example/app.js:20:7',
      '@https://shop.example/app.js:2:3',
      'go@eval.js line 3 > eval:1:1',
    ];
    const safari = ['fetch@[native code]', 'https://shop.example/app.js:7:9', 'module code@https://shop.example/app.js:30:1'];
    const thrown = new TypeError('failed');
    thrown.stack = ['TypeError: failed', 'for me@shop.example', ...firefox, ...safari, ''].join('\n');
    expect(safeCause(thrown, knowing())?.stack).toBe(['TypeError: failed', ...firefox, ...safari].join('\n'));
  });

  test('keeps no line of a message that looks like a place in the code', () => {
    const thrown = new TypeError('failed for https://pets.test/v1/pets?email=me@shop.example&from=10:20:30');
    const places = thrown.stack?.replace(/^[^\n]*/, '');
    const withoutPlaces = `${thrown}`;
    thrown.message = 'failed';
    expect(safeCause(thrown, knowing())?.stack).toBe(`TypeError: failed${places}`);
    thrown.stack = withoutPlaces;
    expect(safeCause(thrown, knowing())?.stack).toBe('TypeError: failed');
  });

  test('keeps nothing else: no request, no headers, no options', () => {
    const request = new Request('https://pets.test/v1', { headers: { authorization: `Bearer ${KEY}` } });
    const cause = safeCause(Object.assign(new Error('failed'), { request, headers: { authorization: KEY }, code: 'E1' }), knowing());
    expect(inspect(cause, { depth: 9, showHidden: true })).not.toContain(KEY);
    expect(cause).not.toHaveProperty('request');
    expect(cause).not.toHaveProperty('headers');
  });

  test('hides the key in name, message, code and stack', () => {
    const thrown = Object.assign(new Error(`Invalid header value: Bearer ${KEY}`), { code: KEY, name: KEY });
    expect(inspect(safeCause(thrown, knowing()), { showHidden: true })).not.toContain(KEY);
  });

  test('makes an error of a thrown value that is not an error', () => {
    expect(safeCause('gone', knowing())).toMatchObject({ name: 'Error', message: 'gone' });
    expect(safeCause(undefined, knowing())).toBeUndefined();
  });
});
