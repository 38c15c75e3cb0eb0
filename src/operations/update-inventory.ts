import type { Call } from '../call.ts';
import { isPromise } from '../clock/is-promise.ts';
import { INVENTORY_PATH } from '../contract/http.ts';
import type { Int64, InventoryItem, PetId } from '../contract/models.ts';
import { InvalidArgumentError } from '../errors.ts';
import { itemTooLarge, MAX_ITEM_BYTES } from '../json/failure.ts';
import { parseItem } from '../json/parse-item.ts';
import { isSafeInteger } from '../json/pet-id.ts';
import { checkPetId, showValue } from '../options/rules.ts';
import { readUpTo } from '../transport/body.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import { decode, invalidResponse, NOT_UTF8, type Operation } from './operation.ts';
import { announceUnknown } from './unknown-statuses.ts';

/**
 * Sets the stock of one pet (specification, updateInventory).
 * The shape of the request is experimental. If the service changes it, it has to be changed here.
 * @throws InvalidArgumentError for a petId that is not an int64, or a quantity that is not a safe integer
 */
export function updateInventory<Ids extends Int64>(petId: unknown, update: unknown, int64: Ids): Operation<InventoryItem<Ids>> {
  const pet = checkPetId(petId, NOTHING_SENT);
  const quantity = checkQuantity(update, pet);
  return {
    name: 'updateInventory',
    petId: pet,
    request: { method: 'PATCH', path: `${INVENTORY_PATH}/${pet}`, body: `{"quantity":${quantity}}` },
    read: (answer, call) => readItem(answer, call, { pet, int64 }),
  };
}

function checkQuantity(update: unknown, petId: PetId): number {
  const isObject = typeof update === 'object' && update !== null;
  const quantity: unknown = isObject ? Reflect.get(update, 'quantity') : undefined;
  if (isSafeInteger(quantity)) return quantity;
  const what = isObject
    ? `${showValue(quantity)} as \`quantity\`: it must be an integer within ±(2^53−1)${typeof quantity === 'string' ? ', not a string' : ''}`
    : `${showValue(update)} as the update: it must be { quantity }`;
  throw new InvalidArgumentError(`Cannot use ${what}`, { argument: 'quantity', petId, ...NOTHING_SENT });
}

const NOTHING_SENT = { operation: 'updateInventory', outcome: 'not-sent' } as const;

async function readItem<Ids extends Int64>(
  answer: OpenAnswer,
  call: Call,
  { pet, int64 }: { pet: PetId; int64: Ids },
): Promise<InventoryItem<Ids>> {
  const reading = readUpTo(answer.body, MAX_ITEM_BYTES);
  const { bytes, isComplete } = isPromise(reading) ? await reading : reading;
  if (!isComplete) throw await invalidResponse(call, answer, itemTooLarge(''));
  const text = decode(bytes);
  const result = text === undefined ? { failure: NOT_UTF8 } : parseItem(text, int64);
  if ('failure' in result) throw await invalidResponse(call, answer, { ...result.failure, body: { bytes, document: 'item' } });
  const { item } = result;
  if (BigInt(item.petId) !== BigInt(pet)) {
    throw await invalidResponse(call, answer, {
      reason: 'mismatch',
      problems: [{ path: 'petId', message: `must be ${pet}, not ${item.petId}` }],
    });
  }
  announceUnknown([item], { call, answer });
  call.confirmed = item;
  return item;
}
