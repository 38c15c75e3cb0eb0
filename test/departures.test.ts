import { PetStoreClient } from 'petstore-inventory';
import { createSandbox, type Fault } from 'petstore-inventory/sandbox';
import { expect, test } from 'vitest';
import type { PetStoreApi } from '../src/api.ts';
import { Departures } from '../src/departures.ts';

/** A client whose listeners are counted, and lists that are begun. */
function station(faults: Fault[] = []) {
  const { keys, baseUrl, fetch } = createSandbox({ pets: 2, faults });
  const client = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch });
  const counted = { listening: 0 };
  const listen: NonNullable<PetStoreApi['on']> = (name, listener) => {
    const stop = client.on(name, listener);
    counted.listening += 1;
    return () => {
      counted.listening -= 1;
      stop();
    };
  };
  const lists: Promise<unknown>[] = [];
  const list = async () => {
    for await (const _ of client.streamInventory());
  };
  const beginList = () => void lists.push(list());
  return { departures: new Departures(listen), counted, client, lists, beginList };
}

test('Departures reports when the request of its own list is sent, and listens only while a list is under way', async () => {
  const { departures, counted, client, lists, beginList } = station();
  const left: string[] = [];
  const stops = ['first', 'second'].map((name) => departures.watch(beginList, () => left.push(name)));
  await Promise.all([...lists, client.listInventory()]);
  expect([left.toSorted(), counted.listening]).toEqual([['first', 'second'], 2]);
  stops[0]?.();
  expect(counted.listening).toBe(2);
  stops[1]?.();
  expect(counted.listening).toBe(0);
});

test('Departures reports when a request of its own list has failed and another one follows', async () => {
  const { departures, lists, beginList } = station([{ at: 1, status: 503, headers: { 'retry-after': '0' } }]);
  const told: boolean[] = [];
  const stop = departures.watch(beginList, (hasLeft) => told.push(hasLeft));
  await Promise.all(lists);
  stop?.();
  expect(told).toEqual([true, false, true]);
});

test('Departures reports nothing about a list once it is stopped', async () => {
  const { departures, lists, beginList } = station();
  const left: string[] = [];
  const stops = ['first', 'second'].map((name) => departures.watch(beginList, () => left.push(name)));
  stops[0]?.();
  await Promise.all(lists);
  expect(left).toEqual(['second']);
});

test.each(['started', 'wait'] as const)(
  'Departures knows its own list if a listener of `%s` synchronously begins another one',
  async (event) => {
    const { departures, counted, client, lists, beginList } = station();
    let sent = 0;
    client.on('request', ({ callId }) => {
      sent = callId;
    });
    // The other calls wait for its answer.
    lists.push(client.listInventory());
    const left: unknown[] = [];
    const stops: unknown[] = [];
    const watch = (name: string) => departures.watch(beginList, () => left.push([name, sent]));
    const stop = client.on(event, () => {
      stop();
      stops.push(watch('other'));
    });
    const stopWatching = watch('own');
    await Promise.all(lists);
    expect(left.toSorted()).toEqual([
      ['other', 3],
      ['own', 2],
    ]);
    stopWatching?.();
    expect([stops.length, counted.listening]).toEqual([1, 2]);
  },
);

test('Departures.of gives the same for the same client, so that its views share one listener', () => {
  const { client } = station();
  expect(Departures.of(client)).toBeInstanceOf(Departures);
  expect(Departures.of(client)).toBe(Departures.of(client));
});

test('Departures does not listen if no list began', () => {
  const { departures, counted } = station();
  const begun = departures.watch(
    () => {},
    () => {},
  );
  expect([begun, counted.listening]).toEqual([undefined, 0]);
});
