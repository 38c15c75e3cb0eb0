import * as z from 'zod/mini';

/** The ends of int64, the type of a petId (specification, InventoryItem). */
const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/**
 * The ID of a pet: an int64 (specification, InventoryItem).
 *
 * A `number` beyond ±(2^53−1) may have been rounded before it got here, so it is refused; write such an ID as a `bigint`.
 */
export const PetId = z.union([
  z.number().check(z.refine(Number.isSafeInteger, 'must be a safe integer; write a larger id as a bigint')),
  z.bigint().check(z.gte(MIN_INT64), z.lte(MAX_INT64)),
]);
export type PetId = z.infer<typeof PetId>;

/** The states of an inventory entry that the specification names (specification, PetStatus). */
export const PetStatus = z.enum(['available', 'pending', 'sold']);
export type PetStatus = z.infer<typeof PetStatus>;

const knownStatuses: ReadonlySet<string> = new Set(PetStatus.options);

/** Tells whether a status is one that the specification names; the service may add others. */
export function isPetStatus(status: string): status is PetStatus {
  return knownStatuses.has(status);
}

/** How ids come out of the client: as `number`, or exact as `bigint`. */
export type Int64 = 'number' | 'bigint';

const Quantity = z.number().check(z.refine(Number.isSafeInteger, 'must be a safe integer'));

/**
 * The stock of one pet (specification, InventoryItem).
 *
 * `status` is open: a value that the service adds tomorrow is passed on as it is.
 */
export const InventoryItem = z.object({ petId: PetId, quantity: Quantity, status: z.string() });
/** The stock of one pet, with its id as the client's `int64` says. */
export interface InventoryItem<Ids extends Int64 = 'number'> {
  /** The animal that the entry tracks. */
  petId: Ids extends 'bigint' ? bigint : number;
  /** Current stock count. */
  quantity: number;
  /** One of {@link PetStatus}, or one that the service added. */
  status: PetStatus | (string & {});
}

/** The body of an update: the new stock count (specification, InventoryUpdate). */
export const InventoryUpdate = z.object({ quantity: Quantity });
export type InventoryUpdate = z.infer<typeof InventoryUpdate>;

/** The body of every error answer (specification, Error). */
export const ErrorBody = z.object({ code: z.string(), message: z.string(), status: z.int() });
export type ErrorBody = z.infer<typeof ErrorBody>;
