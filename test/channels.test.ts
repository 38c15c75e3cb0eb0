import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { PetStoreClient } from 'petstore-inventory';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { channelOf } from '../src/channels.ts';
import { Emitter } from '../src/events.ts';
import { json } from './support/answers.ts';
import { makeCall } from './support/call.ts';
import { freshAddress, KEY, scriptedClient } from './support/client.ts';
import { thrower } from './support/outcome.ts';

const EVENTS = ['started', 'request', 'response', 'settled'] as const;

/** Subscribes to channels of the package for one test. */
function listen(names: readonly string[], take: (message: unknown, name: string | symbol) => void): void {
  for (const name of names) subscribe(`petstore-inventory:${name}`, take);
  onTestFinished(() => {
    for (const name of names) unsubscribe(`petstore-inventory:${name}`, take);
  });
}

describe('The channels of diagnostics_channel', () => {
  test('publish the events of every client, with the client', async () => {
    const told: unknown[] = [];
    listen(EVENTS, (message, name) => told.push([name, message]));
    const { client } = scriptedClient([() => json(200, [])]);
    await client.listInventory();
    const call = { callId: 1, operation: 'listInventory', client };
    expect(told).toEqual([
      ['petstore-inventory:started', { ...call, attempt: 0 }],
      ['petstore-inventory:request', { ...call, attempt: 1, method: 'GET', path: '/inventory' }],
      ['petstore-inventory:response', { ...call, attempt: 1, status: 200, ms: expect.any(Number) }],
      ['petstore-inventory:settled', { ...call, attempt: 1, outcome: 'succeeded', ms: expect.any(Number) }],
    ]);
    expect(JSON.stringify(told)).not.toContain(KEY);
  });

  test('publish the beginning of a call synchronously', () => {
    const told = vi.fn();
    listen(['started'], told);
    const client = new PetStoreClient({ apiKey: KEY, baseUrl: freshAddress(), fetch: async () => json(200, []) });
    client.listInventory();
    expect(told).toHaveBeenCalledOnce();
  });

  test('do not change what listeners get', async () => {
    listen(EVENTS, () => {});
    const { client } = scriptedClient([() => json(200, [])]);
    const started: object[] = [];
    client.on('started', (event) => started.push(event));
    await client.listInventory();
    expect(started).toEqual([{ callId: 1, operation: 'listInventory', attempt: 0 }]);
  });

  test('cost nothing without a subscriber: no event is made', () => {
    const make = vi.fn((event) => ({ ...event, status: 'reserved' }));
    const call = makeCall({ emitter: new Emitter(undefined, {}) });
    call.emit('unknownStatus', make);
    expect(make).not.toHaveBeenCalled();
    listen(['unknownStatus'], () => {});
    call.emit('unknownStatus', make);
    expect(make).toHaveBeenCalledOnce();
  });

  test('are those of the runtime', () => {
    expect(channelOf('started')).toBe(channel('petstore-inventory:started'));
  });

  test.each([
    ['has no process', undefined],
    ['has no modules', { ...process, getBuiltinModule: undefined }],
    ['has a process whose every method throws, as the edge runtime of Next.js', { getBuiltinModule: thrower }],
  ])('are missing where the runtime %s: nothing is published', (runtime, shown) => {
    vi.stubGlobal('process', shown);
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(channelOf(`none yet: ${runtime}`)).toBeUndefined();
  });
});
