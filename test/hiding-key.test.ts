import { inspect } from 'node:util';
import { type PetStoreClient, planSync, recordCalls, StockView, syncInventory, undoSync } from 'petstore-inventory';
import { traceClient } from 'petstore-inventory/otel';
import { expect, test } from 'vitest';
import { KEY, scriptedClient } from './support/client.ts';
import { rejectionOf } from './support/outcome.ts';
import { MemoryJournal } from './sync/support/memory-journal.ts';

/** Calls a function with arguments of whatever type. */
async function given(work: Parameters<typeof Reflect.apply>[0], ...args: unknown[]): Promise<unknown> {
  return Reflect.apply(work, undefined, args);
}

const view = (client: PetStoreClient) => new StockView(client);
const journal = new MemoryJournal();
const CALLS: [string, (client: PetStoreClient) => Promise<unknown>][] = [
  ['the client of planSync', () => given(planSync, KEY, [])],
  ['an option of a view', (client) => given(() => new StockView(client, JSON.parse(`{ "maxAgeMs": "${KEY}" }`)))],
  ['the name of an option of a view', (client) => given(() => new StockView(client, JSON.parse(`{ "${KEY}": 1 }`)))],
  ['the pet of get()', (client) => given(view(client).get.bind(view(client)), KEY)],
  ['an option of get()', (client) => given(view(client).get.bind(view(client)), 1, { maxAgeMs: `Bearer ${KEY}` })],
  ['the options of items()', (client) => given(view(client).items.bind(view(client)), KEY)],
  ['the options of refresh()', (client) => given(view(client).refresh.bind(view(client)), KEY)],
  ['the options of changes()', (client) => given(view(client).changes.bind(view(client)), KEY)],
  ['the pet of peek()', (client) => given(view(client).peek.bind(view(client)), KEY)],
  ['the pet of adjust()', (client) => given(view(client).adjust.bind(view(client)), KEY, 1)],
  ['the delta of adjust()', (client) => given(view(client).adjust.bind(view(client)), 1, KEY)],
  ['an option of adjust()', (client) => given(view(client).adjust.bind(view(client)), 1, 1, { min: KEY })],
  ['a pet of planSync', (client) => given(planSync, client, [{ petId: KEY, quantity: 1 }])],
  ['a quantity of planSync', (client) => given(planSync, client, [{ petId: 1, quantity: `key ${KEY}` }])],
  ['an entry of planSync that is longer than what is shown', (client) => given(planSync, client, [`${'x'.repeat(30)}${KEY}`])],
  ['an option of planSync', (client) => given(planSync, client, [], { now: KEY })],
  ['an adjustment of syncInventory', (client) => given(syncInventory, client, [{ petId: 1, adjust: KEY }])],
  ['an option of syncInventory', (client) => given(syncInventory, client, [], { priority: KEY })],
  ['the journal of syncInventory', (client) => given(syncInventory, client, [], { journal: KEY })],
  ['an option of undoSync', (client) => given(undoSync, client, { journal, maxChanges: KEY })],
  ['the journal of undoSync', (client) => given(undoSync, client, { journal: KEY })],
  ['an option of recordCalls', (client) => given(recordCalls, client, { latest: KEY })],
  ['the client of recordCalls', () => given(recordCalls, KEY)],
  ['an option of traceClient', (client) => given(traceClient, client, { propagate: KEY })],
];

test.each(CALLS)('The message about %s hides the key that was given in its place', async (_what, call) => {
  const { client, seen } = scriptedClient([]);
  const error = await rejectionOf(call(client));
  expect(error).toMatchObject({
    kind: expect.stringMatching(/^(?:configuration|invalid-argument)$/),
    message: expect.stringMatching(/^Cannot use /),
  });
  expect(inspect(error, { depth: 8 })).not.toContain(KEY.slice(0, 10));
  expect(seen).toEqual([]);
});

test('An error without the key is left as it is', async () => {
  const { client } = scriptedClient([]);
  const error = await rejectionOf(given(view(client).get.bind(view(client)), 1.5));
  expect(error).toMatchObject({
    message: expect.stringMatching(/^Cannot use 1\.5 as `petId`/),
    stack: expect.stringContaining('checkPetId'),
  });
});
