import type { Call } from '../call.ts';
import { INVENTORY_PATH } from '../contract/http.ts';
import { type Int64, type InventoryItem, isPetStatus } from '../contract/models.ts';
import { parseItems } from '../json/parse-items.ts';
import { readUpTo } from '../transport/body.ts';
import type { OpenAnswer } from '../transport/transport.ts';
import { announceUnknownStatuses, decode, invalidResponse, type Operation } from './operation.ts';

/** Reads the stock of all pets at once (specification, listInventory), at most `maxBytes` of it. */
export function listInventory<Ids extends Int64>(int64: Ids, maxBytes: number): Operation<InventoryItem<Ids>[]> {
  return {
    name: 'listInventory',
    request: { method: 'GET', path: INVENTORY_PATH },
    read: (answer, call) => readItems(answer, call, { int64, maxBytes }),
  };
}

async function readItems<Ids extends Int64>(
  answer: OpenAnswer,
  call: Call,
  { int64, maxBytes }: { int64: Ids; maxBytes: number },
): Promise<InventoryItem<Ids>[]> {
  const { bytes, isComplete } = await readUpTo(answer, maxBytes);
  if (!isComplete)
    throw invalidResponse(call, answer, {
      reason: 'too-large',
      problems: [{ path: '', message: `is longer than the \`maxResponseBytes\` of ${maxBytes}` }],
    });
  const text = decode(bytes);
  if (text === undefined)
    throw invalidResponse(call, answer, { reason: 'invalid-utf8', problems: [{ path: '', message: 'is not UTF-8' }] });
  const result = parseItems(text, int64);
  if (!result.ok) throw invalidResponse(call, answer, result);
  announceUnknownStatuses(call, unknownStatuses(result.items));
  return result.items;
}

function unknownStatuses(items: readonly { status: string }[]): Set<string> {
  const unknown = new Set<string>();
  for (const { status } of items) if (!isPetStatus(status)) unknown.add(status);
  return unknown;
}
