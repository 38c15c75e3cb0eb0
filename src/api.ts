import type { Int64, InventoryItem, InventoryUpdate, PetId } from './contract/models.ts';
import { isPetId } from './contract/pet-id.ts';
import { InvalidArgumentError, InvalidResponseError, type InvalidResponseReason, type Problem } from './errors.ts';
import type { CallEvent, ClientEvents } from './events.ts';
import type { ListSink } from './operations/item-batches.ts';
import type { RequestOptions } from './options/call-options.ts';
import { hasMethods, showValue } from './options/rules.ts';
import type { Quota } from './quota/ledger/quota.ts';
import type { ReplyPromise } from './reply.ts';

/**
 * The methods of a client. Code that takes this interface, as `syncInventory` and `StockView` do, runs with a `PetStoreClient`, with a
 * wrapper of yours around one, and in tests with a fake.
 *
 * @typeParam Ids the type of ids in answers
 * @example
 * const stock = new Map<PetId, number>([[1, 5]]);
 * const item = (petId: PetId): InventoryItem => ({ petId: Number(petId), quantity: stock.get(petId) ?? 0, status: 'available' });
 * const fake: PetStoreApi = {
 *   listInventory: () => reply([...stock.keys()].map(item)),
 *   streamInventory: async function* () { yield* [...stock.keys()].map(item); },
 *   updateInventory: (petId, { quantity }) => reply(stock.set(petId, quantity) && item(petId)),
 * };
 * await syncInventory(fake, [{ petId: 1, adjust: 2 }]);
 * console.log(stock.get(1)); // → 7
 */
export interface PetStoreApi<Ids extends Int64 = 'number'> {
  /** Like {@link PetStoreClient.listInventory}; in a fake, return `reply(items)`. */
  listInventory(options?: RequestOptions): ReplyPromise<InventoryItem<Ids>[]>;
  /** Like {@link PetStoreClient.streamInventory}; a fake may be an async generator. */
  streamInventory(options?: RequestOptions): InventoryItems<Ids>;
  /** Like {@link PetStoreClient.updateInventory}; in a fake, return `reply(item)`. */
  updateInventory(petId: PetId, update: InventoryUpdate, options?: RequestOptions): ReplyPromise<InventoryItem<Ids>>;
  /**
   * Like {@link PetStoreClient.quota}. Without it, estimates assume the limits of the free plan, and a view with
   * `maxAgeMs: 'quota'` requests a list whenever it is read and no list is under way.
   */
  readonly quota?: Quota | undefined;
  /** The address of the store, without secrets: it identifies the store, so that a journal is not used for another one. */
  readonly baseUrl?: string | undefined;
  /**
   * Like {@link PetStoreClient.on}, for the events that views and jobs need. Without it, a list counts as sent when it is
   * requested, and an aborted update as one that may have been applied.
   */
  on?(
    name: 'started' | 'request' | 'retry',
    listener: (event: CallEvent & Partial<Pick<ClientEvents['retry'], 'error'>>) => void,
  ): () => void;
}

/**
 * The stock of all pets, item by item: an {@link InventoryStream}, or any other iterable of items.
 *
 * @typeParam Ids the type of ids in answers
 * @example
 * const stream: InventoryItems = petstore.streamInventory();
 * for await (const { petId } of stream) if (petId === 12) console.log(petId); // → 12
 */
export interface InventoryItems<Ids extends Int64 = 'number'> extends AsyncIterable<InventoryItem<Ids>> {
  /** Gives the items in arrays. Without this method they are read one by one. */
  batches?(): AsyncIterable<InventoryItem<Ids>[]>;
  /** Like {@link InventoryStream.collect}. Without this method a view or a job fails with a list that breaks after its first items. */
  collect?(sink: ListSink<Ids>): Promise<void>;
}

/** A {@link ListSink} whose methods are not async. */
interface SyncSink<Ids extends Int64> {
  begin(): void;
  add(items: InventoryItem<Ids>[]): void;
}

/** Reads a list into a sink: by its own `collect`, or else in the arrays or items that it gives. The call begins synchronously. */
export async function collect<Ids extends Int64>(list: InventoryItems<Ids>, sink: SyncSink<Ids>): Promise<void> {
  if (list.collect) return list.collect(sink);
  sink.begin();
  if (list.batches) for await (const items of list.batches()) sink.add(items);
  else for await (const item of list) sink.add([item]);
}

/** @throws InvalidArgumentError for a value without the methods that are called */
export function checkClient(client: unknown, methods: readonly string[] = ['streamInventory', 'updateInventory']): void {
  if (hasMethods(client, methods)) return;
  throw notAClient(client, `${methods.join('() and ')}()`);
}

/** The error of a value that is not a client. A text is not shown, since it may be the key. */
export function notAClient(client: unknown, itsParts: string): InvalidArgumentError {
  const shown = typeof client === 'string' ? 'a text' : showValue(client);
  const rule = `it must be a PetStoreClient, or have its ${itsParts}`;
  return new InvalidArgumentError(`Cannot use ${shown} as \`client\`: ${rule}`, { argument: 'client' });
}

/**
 * Checks what a list has at an index: a fake or a wrapper of the client may give anything there; the client itself gives items only.
 *
 * @throws InvalidResponseError that names the place and the value
 */
export function checkItem(item: unknown, index: number): asserts item is Pick<InventoryItem<Int64>, 'petId' | 'quantity'> {
  const bad = badPartOf(item);
  if (!bad) return;
  const [message, path] = [`Cannot read the list: the client gave ${saidOf(bad)}`, `[${index}]${bad.field && `.${bad.field}`}`];
  throw new InvalidResponseError(`${message} at ${path}`, { ...detailsOf(bad, path), operation: 'streamInventory' });
}

/**
 * Checks the answer to the update of a pet in the same way.
 *
 * @throws InvalidResponseError that names the value; the update may have been applied
 */
export function checkUpdated(item: unknown, petId: PetId): asserts item is Pick<InventoryItem<Int64>, 'petId' | 'quantity'> {
  const bad = badPartOf(item, petId);
  if (!bad) return;
  const message = `Cannot update pet ${petId}: the client gave ${saidOf(bad)}${bad.field && ` at ${bad.field}`}`;
  throw new InvalidResponseError(message, { ...detailsOf(bad, bad.field), operation: 'updateInventory', petId, outcome: 'unknown' });
}

/** What is in place of an item or one of its fields. */
interface BadPart {
  value: unknown;
  rule: string;
  /** Empty for the item itself. */
  field: string;
  /** @default 'schema' */
  reason?: InvalidResponseReason;
}

function badPartOf(item: unknown, wanted?: PetId): BadPart | undefined {
  if (typeof item !== 'object' || item === null) return { value: item, rule: 'an item', field: '' };
  const { petId, quantity }: { petId?: unknown; quantity?: unknown } = item;
  if (!isPetId(petId)) return { value: petId, rule: 'an int64', field: 'petId' };
  if (wanted !== undefined && BigInt(petId) !== BigInt(wanted))
    return { value: petId, rule: String(wanted), field: 'petId', reason: 'mismatch' };
  return Number.isSafeInteger(quantity) ? undefined : { value: quantity, rule: 'an integer', field: 'quantity' };
}

function saidOf({ value, rule }: BadPart): string {
  return `${showValue(value)} in place of ${rule}`;
}

function detailsOf({ rule, reason = 'schema' }: BadPart, path: string): { reason: InvalidResponseReason; problems: readonly Problem[] } {
  return { reason, problems: [{ path, message: `must be ${rule}` }] };
}
