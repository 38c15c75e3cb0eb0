const ID = 'in place of an int64 at [1].petId';
const QUANTITY = 'in place of an integer at [1].quantity';

/** What a fake may give in place of the second item of its list, and what an error says of it. */
export const BAD_ITEMS: [bad: unknown, said: string][] = [
  [undefined, 'undefined in place of an item at [1]'],
  [null, 'null in place of an item at [1]'],
  ['pet 5', '"pet 5" in place of an item at [1]'],
  [5, '5 in place of an item at [1]'],
  [{}, `undefined ${ID}`],
  [{ quantity: 5, status: 'sold' }, `undefined ${ID}`],
  [{ petId: '5', quantity: 5, status: 'sold' }, `"5" ${ID}`],
  [{ petId: 5.5, quantity: 5, status: 'sold' }, `5.5 ${ID}`],
  [{ petId: 2 ** 53, quantity: 5, status: 'sold' }, `9007199254740992 ${ID}`],
  [{ petId: 2n ** 63n, quantity: 5, status: 'sold' }, `9223372036854775808n ${ID}`],
  [{ petId: 5, status: 'sold' }, `undefined ${QUANTITY}`],
  [{ petId: 5, quantity: '5', status: 'sold' }, `"5" ${QUANTITY}`],
  [{ petId: 5, quantity: Number.NaN, status: 'sold' }, `NaN ${QUANTITY}`],
];

/** What a fake may answer to the update of pet 5, and what an error says of it. */
export const BAD_UPDATED: [bad: unknown, said: string][] = [
  [undefined, 'undefined in place of an item'],
  [null, 'null in place of an item'],
  ['done', '"done" in place of an item'],
  [{}, 'undefined in place of an int64 at petId'],
  [{ petId: 5, status: 'sold' }, 'undefined in place of an integer at quantity'],
  [{ petId: 5, quantity: 1.5, status: 'sold' }, '1.5 in place of an integer at quantity'],
  [{ petId: 6, quantity: 7, status: 'sold' }, '6 in place of 5 at petId'],
];

/** A value as the item that its types say it is not. */
export function asItem<Item>(bad: unknown): Item {
  return Reflect.get({ bad }, String('bad'));
}
