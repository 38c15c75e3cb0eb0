import * as fc from 'fast-check';
import { type InventoryItem, type PetId, type PetStoreApi, type ReplyPromise, reply, StockView } from 'petstore-inventory';
import { expect, test } from 'vitest';
import { UpdateNews } from '../../src/update-news.ts';
import { FUZZ } from '../support/fuzz.ts';

type Item = InventoryItem<'number' | 'bigint'>;

const small = fc.integer({ min: -3, max: 12 });
const ids = {
  number: fc.oneof(small, fc.constantFrom(2 ** 40, Number.MIN_SAFE_INTEGER)),
  bigint: fc.oneof(small.map(BigInt), fc.constantFrom(2n ** 60n, -(2n ** 63n))),
};

function itemsOf(petId: fc.Arbitrary<PetId>): fc.Arbitrary<Item> {
  const quantity = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.maxSafeInteger());
  return fc.record({ petId, quantity, status: fc.constantFrom('available', 'pending', 'sold', 'lost', 'é') });
}

function listsOf(item: fc.Arbitrary<Item>): fc.Arbitrary<Item[]> {
  const list = fc.array(item, { maxLength: 12 });
  return fc.oneof(
    list,
    list.map((items) => items.toSorted((one, other) => (one.petId < other.petId ? -1 : 1))),
  );
}

/** What may happen, in turns: the service's own stock changes, a list begins, is answered or fails, an update is confirmed or in doubt. */
function stepsOf(petId: fc.Arbitrary<PetId>): fc.Arbitrary<Step[]> {
  const item = itemsOf(petId);
  const step = fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({ kind: fc.constant('stock' as const), items: listsOf(item) }),
    fc.record({ kind: fc.constantFrom('begin' as const, 'answer' as const, 'fail' as const, 'lend' as const) }),
    fc.record({ kind: fc.constant('update' as const), item }),
  );
  return fc.array(step, { maxLength: 40 });
}

type Step = { kind: 'stock'; items: Item[] } | { kind: 'begin' | 'answer' | 'fail' | 'lend' } | { kind: 'update'; item: Item };

const keyOf = ({ petId: id }: { petId: PetId }) => BigInt(id);
const plain = (items: Iterable<Item>) => Array.from(items, (each) => ({ ...each, petId: BigInt(each.petId) }));

/** The view as one would write it with a Map. */
class Model {
  service = new Map<bigint, Item>();
  held: Map<bigint, Item> | undefined;
  read: Map<bigint, Item> | undefined;

  setService(items: readonly Item[]): void {
    this.service = new Map(items.map((each) => [keyOf(each), each]));
  }

  update(changed: Item): void {
    for (const stock of [this.service, this.held, this.read]) stock?.set(keyOf(changed), changed);
  }
}

/** A client whose lists are answered as the test says, with what the service had when they left. */
class FakeClient implements PetStoreApi<'number' | 'bigint'> {
  readonly news = UpdateNews.from(this);
  items: readonly Item[] = [];
  answer: ((failed: boolean) => void) | undefined;

  async *streamInventory(): AsyncGenerator<Item> {
    const items = this.items;
    const failed = await new Promise<boolean>((resolve) => {
      this.answer = resolve;
    });
    const [first, ...others] = items;
    if (first) yield first;
    if (failed) throw new Error('the list broke off');
    yield* others;
  }

  listInventory(): ReplyPromise<Item[]> {
    return reply(this.items.slice());
  }

  updateInventory(): ReplyPromise<Item> {
    return reply(Promise.reject(new Error('no update is sent')));
  }
}

/** A view and its model, which do the same. */
class Pair {
  readonly client = new FakeClient();
  readonly view = new StockView<'number' | 'bigint'>(this.client, { maxAgeMs: 3_600_000 });
  readonly model = new Model();
  readonly lent: { items: Iterable<Item>; expected: unknown }[] = [];
  #list: Promise<void> | undefined;

  async do(next: Step): Promise<void> {
    if (next.kind === 'stock') this.model.setService(next.items);
    if (next.kind === 'stock') this.client.items = next.items;
    if (next.kind === 'begin') this.#begin();
    if (next.kind === 'answer' || next.kind === 'fail') await this.#end(next.kind === 'fail');
    if (next.kind === 'update') this.#update(next.item);
    if (next.kind === 'lend' && this.model.held) {
      this.lent.push({ items: await this.view.items(), expected: plain(this.model.held.values()) });
    }
  }

  #begin(): void {
    if (this.#list) return;
    this.#list = this.view.refresh();
    this.#list.catch(() => {});
    this.model.read = new Map(this.model.service);
  }

  async #end(failed: boolean): Promise<void> {
    if (!this.#list) return;
    this.client.answer?.(failed);
    await this.#list.catch(() => {});
    this.#list = undefined;
    if (!failed) this.model.held = this.model.read;
    this.model.read = undefined;
  }

  #update(changed: Item): void {
    this.model.update(changed);
    this.client.items = [...this.model.service.values()];
    this.client.news.tell({ petId: changed.petId, confirmed: changed, outcome: 'unknown' });
  }

  check(): void {
    const { view, model } = this;
    const expected = plain(model.held?.values() ?? []);
    expect(view.size).toBe(expected.length);
    for (const one of expected) expect(plain([view.peek(one.petId)].filter((held) => held !== undefined))).toEqual([one]);
    for (const { items, expected: before } of this.lent) expect(plain(items)).toEqual(before);
  }

  async checkItems(): Promise<void> {
    if (!this.model.held) return;
    const all = plain(await this.view.items());
    expect(all).toEqual(plain(this.model.held.values()));
    expect(plain(await this.view.items({ status: 'lost' }))).toEqual(all.filter(({ status }) => status === 'lost'));
  }
}

test.each([['number', ids.number] as const, ['bigint', ids.bigint] as const])(
  'a view holds the same as a Map, with any lists, updates and failures, and with ids as %s',
  async (_int64, petId) => {
    await fc.assert(
      fc.asyncProperty(stepsOf(petId), async (steps) => {
        const pair = new Pair();
        for (const each of steps) {
          await pair.do(each);
          pair.check();
        }
        await pair.checkItems();
        pair.view.close();
      }),
      FUZZ,
    );
  },
);
