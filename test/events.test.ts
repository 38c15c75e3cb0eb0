import { describe, expect, test, vi } from 'vitest';
import { Emitter, type EventLog } from '../src/events.ts';

const event = { callId: 1, operation: 'updateInventory', petId: 42n, attempt: 1 } as const;
const request = { ...event, method: 'PATCH', path: '/inventory/42' };
const settled = { ...event, outcome: 'succeeded', ms: 5 } as const;

/** A log that writes down what it is told. */
function notes(): EventLog & { lines: unknown[] } {
  const lines: unknown[] = [];
  return { lines, tell: (name, told) => lines.push([name, told]), warn: (message) => lines.push(message) };
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

  test('is heard where this event has a listener, or there is a log', () => {
    const emitter = new Emitter();
    const end = emitter.on('settled', () => {});
    const heard = [emitter.isHeard('settled'), emitter.isHeard('wait')];
    end();
    expect([...heard, emitter.isHeard('settled'), new Emitter(notes()).isHeard('wait')]).toEqual([true, false, false, true]);
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

  test('goes on where the log throws, at once or later', async () => {
    const throwing = () => {
      throw new Error('the log failed');
    };
    const emitter = new Emitter({ tell: throwing, warn: async () => throwing() });
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

  test('tells the log every event, listeners or not, and every warning', () => {
    const log = notes();
    const emitter = new Emitter(log);
    emitter.emit('request', request);
    emitter.warn('beware');
    emitter.emit('settled', settled);
    expect(log.lines).toEqual([['request', request], 'beware', ['settled', settled]]);
  });
});
