import * as z from 'zod/mini';
import { MAX_INT64, MIN_INT64 } from './pet-id.ts';
import { PET_STATUSES } from './pet-status.ts';

/**
 * The ID of a pet: an int64 (specification, InventoryItem).
 *
 * A `number` beyond ±(2^53−1) may have been rounded before it got here, so it is refused; write such an ID as a `bigint`.
 *
 * @example
 * console.log(PetId.safeParse(2n ** 53n).success, PetId.safeParse(2 ** 53).success); // → true false
 */
export const PetId = z.union([
  z.number().check(z.refine(Number.isSafeInteger, 'must be a safe integer; write a larger id as a bigint')),
  z.bigint().check(z.gte(MIN_INT64), z.lte(MAX_INT64)),
]);
export type PetId = z.infer<typeof PetId>;

/**
 * The states of an inventory entry that the specification names (specification, PetStatus).
 *
 * @example
 * console.log(PetStatus.options); // → [ 'available', 'pending', 'sold' ]
 */
export const PetStatus = z.enum(PET_STATUSES);
export type PetStatus = z.infer<typeof PetStatus>;

/**
 * The type of ids in answers: `number`, or `bigint`, which is always exact (specification, InventoryItem: a petId is an int64).
 *
 * @example
 * const ids: Int64 = 'bigint';
 * const [first] = await new PetStoreClient({ apiKey, baseUrl, int64: ids }).listInventory();
 * console.log(first?.petId); // → 1n
 */
export type Int64 = 'number' | 'bigint';

const Quantity = z.number().check(z.refine(Number.isSafeInteger, 'must be a safe integer'));

/**
 * The stock of one pet (specification, InventoryItem).
 *
 * `status` is open: a value that the service adds later is passed on as it is. `quantity` is a safe integer. What it parses has the type
 * `InventoryItem<Int64>`, since its `petId` may be a number or a bigint.
 *
 * @example
 * console.log(InventoryItem.parse({ petId: 1, quantity: 3, status: 'sold', note: 'dropped' })); // → { petId: 1, quantity: 3, status: 'sold' }
 */
export const InventoryItem = z.object({ petId: PetId, quantity: Quantity, status: z.string() });
/**
 * The stock of one pet, with its id as the client's `int64` says (specification, InventoryItem).
 *
 * @example
 * const item: InventoryItem<'bigint'> = { petId: 9007199254740993n, quantity: 3, status: 'available' };
 */
export interface InventoryItem<Ids extends Int64 = 'number'> {
  // A lookup: with a conditional type, TypeScript takes an item of `Int64`, whose id may be a bigint, for one of `'number'`.
  /** The animal that the entry tracks: an int64, never rounded. */
  petId: { number: number; bigint: bigint }[Ids];
  /** Current stock count: a safe integer. */
  quantity: number;
  /** A {@link PetStatus}, or a status that the service added. */
  status: PetStatus | (string & {});
}

/**
 * The body of an update: the new stock count, a safe integer (specification, InventoryUpdate).
 *
 * @example
 * console.log(InventoryUpdate.safeParse({ quantity: 1.5 }).success); // → false
 */
export const InventoryUpdate = z.object({ quantity: Quantity });

/**
 * The body of an update (specification, InventoryUpdate).
 *
 * @example
 * const update: InventoryUpdate = { quantity: 12 };
 * console.log((await petstore.updateInventory(1, update)).quantity); // → 12
 */
export type InventoryUpdate = {
  /** The new stock count: a safe integer. The service may have narrower bounds. */
  quantity: number;
};

/**
 * The body of every error answer (specification, Error).
 *
 * @example
 * const body = ErrorBody.parse({ code: 'pet_missing', message: 'There is no pet 999', status: 404 });
 * console.log(body.code); // → pet_missing
 */
export const ErrorBody = z.object({ code: z.string(), message: z.string(), status: z.int() });
export type ErrorBody = z.infer<typeof ErrorBody>;
