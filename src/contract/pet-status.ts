/** The states of an inventory entry that the specification names (specification, PetStatus). */
export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

/** One of {@link PET_STATUSES}. */
export type PetStatus = (typeof PET_STATUSES)[number];

const knownStatuses: ReadonlySet<string> = new Set(PET_STATUSES);

/**
 * Whether a status is one that the specification names (specification, PetStatus); the service may add others. Never throws.
 *
 * @example
 * const items = await petstore.listInventory();
 * console.log(items.every(({ status }) => isPetStatus(status)), isPetStatus('lost')); // → true false
 */
export function isPetStatus(status: string): status is PetStatus {
  return knownStatuses.has(status);
}
