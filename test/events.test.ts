import { describe, expect, test, vi } from 'vitest';
import { Emitter, type EventLog } from '../src/events.ts';
import { createLog } from '../src/log-lines.ts';
import { Redactor } from '../src/redactor.ts';
import { thrower } from './support/outcome.ts';
import { nextTurn, watchUnhandled } from './support/unhandled.ts';

const unhandled = watchUnhandled();

const event = { callId: 1, operation: 'updateInventory', petId: 42n, attempt: 1 } as const;
const request = { ...event, method: 'PATCH', path: '/inventory/42' };
const settled = { ...event, outcome: 'succeeded', ms: 5 } as const;

/** A log that keeps the events and warnings that it gets. */
function notes(): EventLog & { lines: unknown[] } {
  const lines: unknown[] = [];
  return { lines, tell: (name, told) => lines.push([name, told]), warn: (message) => lines.push(message) };
}

describe('Emitter', () => {
  test('calls every listener of an event, in the order in which they were added, and no other', () => {
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

  test('ends one subscription at a time, even if one function has two', () => {
    const emitter = new Emitter();
    const listener = vi.fn();
    const end = emitter.on('request', listener);
    emitter.on('request', listener);
    end();
    end();
    emitter.emit('request', request);
    expect([listener.mock.calls.length, emitter.hasListener('request')]).toEqual([1, true]);
  });

  test('reports a listener if this event has one, or if there is a log', () => {
    const emitter = new Emitter();
    const end = emitter.on('settled', () => {});
    const heard = [emitter.hasListener('settled'), emitter.hasListener('wait')];
    end();
    expect([...heard, emitter.hasListener('settled'), new Emitter(notes()).hasListener('wait')]).toEqual([true, false, false, true]);
  });

  test.each<[string, () => unknown]>([
    ['at once', thrower],
    ['later', async () => thrower()],
  ])('continues if a listener throws %s, and leaves no unhandled rejection', async (_when, listener) => {
    const emitter = new Emitter();
    const after = vi.fn();
    emitter.on('request', listener);
    emitter.on('request', after);
    emitter.emit('request', request);
    await nextTurn();
    expect([after.mock.calls.length, unhandled.mock.calls.length]).toEqual([1, 0]);
  });

  test.each<[string, () => unknown]>([
    ['at once', thrower],
    ['later', async () => thrower()],
  ])('continues if the logger behind the log throws %s, and leaves no unhandled rejection', async (_when, write) => {
    const emitter = new Emitter(createLog({ debug: write, info: write, warn: write, error: write }, new Redactor()));
    const after = vi.fn();
    emitter.on('settled', after);
    emitter.emit('request', request);
    emitter.warn('beware');
    emitter.emit('settled', settled);
    await nextTurn();
    expect([after.mock.calls.length, unhandled.mock.calls.length]).toEqual([1, 0]);
  });

  test('lets a listener unsubscribe while it is called', () => {
    const emitter = new Emitter();
    const second = vi.fn();
    const end = emitter.on('request', () => end());
    emitter.on('request', second);
    emitter.emit('request', request);
    emitter.emit('request', request);
    expect([second.mock.calls.length, emitter.hasListener('request')]).toEqual([2, true]);
  });

  test('passes every event to the log, with or without listeners, and every warning', () => {
    const log = notes();
    const emitter = new Emitter(log);
    emitter.emit('request', request);
    emitter.warn('beware');
    emitter.emit('settled', settled);
    expect(log.lines).toEqual([['request', request], 'beware', ['settled', settled]]);
  });
});
