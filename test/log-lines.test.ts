import { describe, expect, test } from 'vitest';
import { ServerError } from '../src/errors.ts';
import { createLog } from '../src/log-lines.ts';
import { Redactor } from '../src/redactor.ts';

const update = { callId: 7, operation: 'updateInventory', petId: 42n, attempt: 2 } as const;
const list = { callId: 8, operation: 'listInventory', attempt: 0 } as const;
const until = new Date('2026-11-21T10:00:00Z');

function makeLog() {
  const lines: string[] = [];
  const at = (level: string) => (message: string) => lines.push(`${level} ${message}`);
  const redactor = new Redactor();
  redactor.learn('psk_hunter2');
  return { lines, log: createLog({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, redactor) };
}

describe('createLog', () => {
  test('says at debug what each call does', () => {
    const { log, lines } = makeLog();
    log.tell('started', list);
    log.tell('started', { callId: 9, operation: 'streamInventory', attempt: 0 });
    log.tell('wait', { ...update, reason: 'quota', ms: 12_400 });
    log.tell('wait', { ...update, reason: 'order', ms: 0 });
    log.tell('request', { ...update, method: 'PATCH', path: '/inventory/42' });
    log.tell('response', { ...update, status: 200, ms: 35 });
    log.tell('settled', { ...update, outcome: 'succeeded', ms: 12_435 });
    log.tell('settled', {
      ...update,
      outcome: 'unknown',
      ms: 3_100,
      error: new ServerError('Cannot update pet 42: the service answered 500'),
    });
    expect(lines).toEqual([
      'debug petstore-inventory: list the inventory begins (call 8)',
      'debug petstore-inventory: read the inventory begins (call 9)',
      'debug petstore-inventory: update pet 42 waits 12.4 s for quota (call 7)',
      'debug petstore-inventory: update pet 42 waits for order (call 7)',
      'debug petstore-inventory: update pet 42 sends attempt 2: PATCH /inventory/42 (call 7)',
      'debug petstore-inventory: update pet 42 is answered 200 after 0.035 s (call 7)',
      'debug petstore-inventory: update pet 42 ends after 12.435 s: succeeded (call 7)',
      'debug petstore-inventory: update pet 42 ends after 3.1 s: unknown, ServerError: Cannot update pet 42: the service answered 500 (call 7)',
    ]);
  });

  test('hides the key in the reason of an abort', () => {
    const { log, lines } = makeLog();
    log.tell('settled', { ...list, outcome: 'not-sent', ms: 5, error: new Error('stopped with psk_hunter2') });
    expect(lines).toEqual(['debug petstore-inventory: list the inventory ends after 0.005 s: not-sent, Error: stopped with *** (call 8)']);
  });

  test('says at info what calls wait for, and the state of the key and its quota', () => {
    const { log, lines } = makeLog();
    log.tell('queue', { ...update, reason: 'quota', ms: 39_912, calls: 131 });
    log.tell('gate', { ...update, state: 'closed', until });
    log.tell('gate', { ...update, state: 'closed' });
    log.tell('gate', { ...list, state: 'open' });
    log.tell('quotaStore', { ...list, state: 'local', reason: 'connect ECONNREFUSED' });
    log.tell('quotaStore', { ...list, state: 'shared' });
    expect(lines).toEqual([
      'info petstore-inventory: update pet 42 waits 39.912 s for quota, first of 131 (call 7)',
      'info petstore-inventory: update pet 42 finds the gate closed until 2026-11-21T10:00:00.000Z (call 7)',
      'info petstore-inventory: update pet 42 finds the gate closed (call 7)',
      'info petstore-inventory: list the inventory finds the gate open (call 8)',
      'info petstore-inventory: list the inventory finds the quota local: connect ECONNREFUSED (call 8)',
      'info petstore-inventory: list the inventory finds the quota shared (call 8)',
    ]);
  });

  test('says at warn what needs attention', () => {
    const { log, lines } = makeLog();
    log.tell('retry', { ...update, delayMs: 500, error: new ServerError('Cannot update pet 42: the service answered 500') });
    log.tell('unknownStatus', { ...list, status: 'reserved' });
    const [deprecatedAt, sunsetAt] = [new Date('2026-11-01T00:00:00Z'), new Date('2027-06-30T00:00:00Z')];
    const news = 'https://shop.example/news';
    log.tell('deprecation', { ...update, method: 'PATCH', path: '/inventory/42', deprecatedAt, sunsetAt, link: news });
    log.tell('deprecation', { ...list, method: 'GET', path: '/inventory' });
    log.tell('retryBudget', { ...update, state: 'empty', available: 0 });
    log.tell('retryBudget', { ...list, state: 'refilled', available: 5 });
    log.warn('beware');
    expect(lines).toEqual([
      'warn petstore-inventory: update pet 42 is tried again in 0.5 s: Cannot update pet 42: the service answered 500 (call 7)',
      'warn petstore-inventory: list the inventory finds the unknown status reserved (call 8)',
      'warn petstore-inventory: update pet 42 finds PATCH /inventory/42 deprecated as of 2026-11-01T00:00:00.000Z, to stop at 2027-06-30T00:00:00.000Z, see https://shop.example/news (call 7)',
      'warn petstore-inventory: list the inventory finds GET /inventory deprecated (call 8)',
      'warn petstore-inventory: update pet 42 finds the retry budget empty, 0 left (call 7)',
      'warn petstore-inventory: list the inventory finds the retry budget refilled, 5 left (call 8)',
      'warn petstore-inventory: beware',
    ]);
  });

  test.each([
    [null, 'null'],
    [undefined, 'undefined'],
    [0, '0'],
    [Object.create(null), 'something that cannot be shown'],
  ])('says that a call was aborted with %o', (error, shown) => {
    const { log, lines } = makeLog();
    log.tell('settled', { ...list, outcome: 'unknown', ms: 5, error });
    expect(lines).toEqual([`debug petstore-inventory: list the inventory ends after 0.005 s: unknown, ${shown} (call 8)`]);
  });

  test('says which later call an update was superseded by, and how that one failed', () => {
    const { log, lines } = makeLog();
    log.tell('settled', { ...update, attempt: 0, outcome: 'superseded', supersededBy: 9, ms: 5 });
    log.tell('settled', { ...update, attempt: 0, outcome: 'superseded', supersededBy: 9, ms: 5, error: new ServerError('Cannot update') });
    expect(lines).toEqual([
      'debug petstore-inventory: update pet 42 ends after 0.005 s: superseded by call 9 (call 7)',
      'debug petstore-inventory: update pet 42 ends after 0.005 s: superseded by call 9, ServerError: Cannot update (call 7)',
    ]);
  });

  test('writes one line, even if the reason of an abort has several', () => {
    const { log, lines } = makeLog();
    log.tell('settled', { ...update, outcome: 'not-sent', ms: 5, error: 'enough\r\npetstore-inventory: forged' });
    expect(lines).toEqual([
      'debug petstore-inventory: update pet 42 ends after 0.005 s: not-sent, enough petstore-inventory: forged (call 7)',
    ]);
  });
});
