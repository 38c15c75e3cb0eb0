import { describe, expect, test, vi } from 'vitest';
import { Emitter } from '../src/events.ts';

const event = { callId: 1, operation: 'updateInventory', petId: 42n, attempt: 1 } as const;
const request = { ...event, method: 'PATCH', path: '/inventory/42' };
const settled = { ...event, outcome: 'succeeded', ms: 5 } as const;

function logger() {
  const lines: string[] = [];
  const at = (level: string) => (message: string) => lines.push(`${level}: ${message}`);
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

describe('Emitter', () => {
  test('tells every listener of an event, in the order in which they came, and no other', () => {
    const emitter = new Emitter();
    const log: unknown[] = [];
    emitter.on('request', (heard) => log.push(['first', heard]));
    emitter.on('request', (heard) => log.push(['second', heard]));
    emitter.on('settled', (heard) => log.push(['settled', heard]));
    emitter.emit('request', request);
    expect(log).toEqual([
      ['first', request],
      ['second', request],
    ]);
  });

  test('ends a subscription once, also where one function has two', () => {
    const emitter = new Emitter();
    const listener = vi.fn();
    const end = emitter.on('request', listener);
    emitter.on('request', listener);
    end();
    end();
    emitter.emit('request', request);
    expect([listener.mock.calls.length, emitter.isHeard('request')]).toEqual([1, true]);
  });

  test('is heard where this event has a listener, or there is a logger', () => {
    const emitter = new Emitter();
    const end = emitter.on('settled', () => {});
    const heard = [emitter.isHeard('settled'), emitter.isHeard('wait')];
    end();
    expect([...heard, emitter.isHeard('settled'), new Emitter(logger()).isHeard('wait')]).toEqual([true, false, false, true]);
  });

  test('goes on where a listener throws, at once or later', async () => {
    const emitter = new Emitter();
    const after = vi.fn();
    emitter.on('request', () => {
      throw new Error('a listener failed');
    });
    emitter.on('request', async () => {
      throw new Error('an async listener failed');
    });
    emitter.on('request', after);
    emitter.emit('request', request);
    await Promise.resolve();
    expect(after).toHaveBeenCalledOnce();
  });

  test('goes on where the logger throws, at once or later', async () => {
    const throwing = () => {
      throw new Error('the logger failed');
    };
    const rejecting = async () => throwing();
    const emitter = new Emitter({ debug: throwing, info: throwing, warn: rejecting, error: throwing });
    const after = vi.fn();
    emitter.on('settled', after);
    emitter.emit('request', request);
    emitter.warn('beware');
    emitter.emit('settled', settled);
    await Promise.resolve();
    expect(after).toHaveBeenCalledOnce();
  });

  test('lets a listener unsubscribe while it is told', () => {
    const emitter = new Emitter();
    const second = vi.fn();
    const end = emitter.on('request', () => end());
    emitter.on('request', second);
    emitter.emit('request', request);
    emitter.emit('request', request);
    expect([second.mock.calls.length, emitter.isHeard('request')]).toEqual([2, true]);
  });

  test('writes every event on one line, at the level of its weight', () => {
    const log = logger();
    const emitter = new Emitter(log);
    const until = new Date('2026-11-21T10:00:00Z');
    emitter.emit('request', request);
    emitter.emit('retry', { ...event, delayMs: 500, error: Object.assign(new TypeError('two\nlines')) });
    emitter.emit('gate', { ...event, state: 'closed', until });
    emitter.emit('unknownStatus', { ...event, status: 'reserved' });
    emitter.emit('settled', { ...settled, error: undefined });
    emitter.warn('beware');
    const call = 'callId=1 operation=updateInventory petId=42 attempt=1';
    expect(log.lines).toEqual([
      `debug: petstore-inventory: request ${call} method=PATCH path=/inventory/42`,
      `warn: petstore-inventory: retry ${call} delayMs=500 error="two\\nlines"`,
      `info: petstore-inventory: gate ${call} state=closed until=2026-11-21T10:00:00.000Z`,
      `warn: petstore-inventory: unknownStatus ${call} status=reserved`,
      `debug: petstore-inventory: settled ${call} outcome=succeeded ms=5`,
      'warn: petstore-inventory: beware',
    ]);
  });

  test('writes an event with an object on one line too', () => {
    const log = logger();
    new Emitter(log).emit('settled', { ...settled, error: { because: 'enough\n' } });
    expect(log.lines.join()).toMatch(/error=\{"because":"enough\\n"\}$/);
  });
});
