import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { CallToolResult, ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod/mini';
import { eitherSignal } from '../../clock/either-signal.ts';
import type { InventoryItem, PetId } from '../../contract/models.ts';
import { isInt64 } from '../../contract/pet-id.ts';
import { isPetStatus } from '../../contract/pet-status.ts';
import type { SyncReport, WantedEntry } from '../../sync/index.ts';
import { VERSION } from '../../version.ts';
import { StockView } from '../../view/index.ts';
import type { Client } from '../connect.ts';
import { Interruption } from '../exit-code.ts';
import { explainError } from '../explain-error.ts';
import { shellWord } from '../shell-word.ts';
import { noSuchStatus } from '../stock-text.ts';
import { UsageError } from '../usage-error.ts';
import type { Plans } from './plans.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** The oldest list that is shown, so that several pages of a list cost one request. */
const MAX_AGE_MS = 5_000;
const MOST_SHOWN = 1_000;

/** An object without other names, so that a misspelt argument does not change what is asked for. */
function onlyArguments<Shape extends Record<string, z.ZodMiniType>>(shape: Shape) {
  const known = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: ({ code, keys }) => (code === 'unrecognized_keys' ? `Unknown argument ${keys.join(', ')} (known: ${known})` : undefined),
  });
}

const DIGITS = /^-?\d{1,19}$/;

const PetIdArgument = z
  .union([
    z.int(),
    z.string().check(
      // Without `abort`, with which the union would not say what is wrong.
      z.regex(DIGITS),
      z.refine((text) => !DIGITS.test(text) || isInt64(BigInt(text)), 'Beyond int64'),
    ),
  ])
  .check(z.describe('The id of a pet; beyond 2^53 - 1 a string of digits'));

const LIST = onlyArguments({
  status: z.optional(z.string().check(z.describe('Only pets of this status, such as available, pending or sold'))),
  below: z.optional(z.int().check(z.describe('Only pets with a quantity below this'))),
  petIds: z.optional(z.array(PetIdArgument).check(z.maxLength(MOST_SHOWN))),
  offset: z._default(z.int().check(z.gte(0)), 0),
  limit: z._default(z.int().check(z.gte(1), z.lte(MOST_SHOWN)), 100),
});

const Update = onlyArguments({
  petId: PetIdArgument,
  quantity: z.optional(z.int().check(z.describe('The new quantity'))),
  adjust: z.optional(z.int().check(z.describe('The number to add to the quantity; negative to subtract'))),
});
const PLAN = onlyArguments({
  updates: z
    .array(Update)
    .check(
      z.minLength(1),
      z.maxLength(MOST_SHOWN),
      z.describe('Each with either quantity or adjust. For one pet, a quantity replaces the entries before it, and adjustments add up'),
    ),
});
const APPLY = onlyArguments({ planId: z.string().check(z.describe('The planId that plan_updates returned')) });

const INSTRUCTIONS = `The stock of a pet store: quantity and status of each pet.
The key's plan limits the requests. A call may wait for quota; if the wait would be too long, it fails and says when to try again.`;
const WITH_UPDATES = `
To change stock, call plan_updates, show its changes to the user, and apply the plan with apply_plan when they agree.`;

/** Makes an MCP server for a client; read-only without `plans`. An abort of `ending` ends the calls of all tools. */
export function createMcpServer(client: Client, plans: Plans | undefined, ending: AbortSignal): McpServer {
  const instructions = plans ? INSTRUCTIONS + WITH_UPDATES : INSTRUCTIONS;
  const server = new McpServer({ name: 'petstore-inventory', version: VERSION }, { instructions });
  addReading(server, client, ending);
  if (plans) addUpdating(server, plans, ending);
  return server;
}

function addReading(server: McpServer, client: Client, ending: AbortSignal): void {
  const view = new StockView(client, { maxAgeMs: MAX_AGE_MS, maxStaleMs: MAX_AGE_MS });
  const annotations = { readOnlyHint: true };
  server.registerTool(
    'list_inventory',
    {
      title: 'List the stock',
      description: 'Lists pets with quantity and status; costs at most one request.',
      inputSchema: LIST,
      annotations,
    },
    ({ petIds, ...given }, extra) =>
      answer({ what: 'list the inventory', cancelled: extra.signal, ending }, async (signal) => {
        const wanted = petIds && new Set(petIds.map((petId) => String(BigInt(petId))));
        const all = await view.items({ signal });
        return page(all, { ...given, wanted, asOf: view.asOf });
      }),
  );
  server.registerTool(
    'get_quota',
    {
      title: 'Show the quota',
      description: "Shows what is known of the key's quota; costs no request. Before the first request, little is known.",
      inputSchema: {},
      annotations,
    },
    (_nothing, extra) =>
      answer({ what: 'show the quota', cancelled: extra.signal, ending }, async () => ({
        quota: client.quota,
        retryBudget: client.retryBudget,
      })),
  );
}

interface PageOptions {
  status?: string | undefined;
  below?: number | undefined;
  wanted: ReadonlySet<string> | undefined;
  offset: number;
  limit: number;
  asOf: Date | undefined;
}

function page(all: Iterable<InventoryItem<'bigint'>>, { status, below, wanted, offset, limit, asOf }: PageOptions): object {
  const pets: object[] = [];
  const statuses = new Set<string>();
  const missing = new Set(wanted);
  let [total, matching] = [0, 0];
  for (const item of all) {
    total += 1;
    statuses.add(item.status);
    missing.delete(String(item.petId));
    if (status !== undefined && item.status !== status) continue;
    if ((below !== undefined && item.quantity >= below) || wanted?.has(String(item.petId)) === false) continue;
    if (matching >= offset && pets.length < limit) pets.push({ ...item, petId: shownId(item.petId) });
    matching += 1;
  }
  const next = offset + pets.length;
  const isUnknown = status !== undefined && !isPetStatus(status) && !statuses.has(status);
  const notes = [isUnknown && noSuchStatus(status, statuses), missing.size > 0 && `not in the list: ${[...missing].join(', ')}`];
  const note = notes.filter(Boolean).join('; ');
  return { pets, matching, total, asOf, ...(next < matching && { nextOffset: next }), ...(note && { note }) };
}

function addUpdating(server: McpServer, plans: Plans, ending: AbortSignal): void {
  server.registerTool(
    'plan_updates',
    {
      title: 'Plan changes of stock',
      description: 'Shows what updates would change, without changing anything; costs one request. Pass its planId to apply_plan.',
      inputSchema: PLAN,
      annotations: { readOnlyHint: true },
    },
    ({ updates }, extra) =>
      answer({ what: 'plan the updates', cancelled: extra.signal, ending }, async (signal) => {
        const { changes, missing, failed, ...plan } = await plans.make(updates.map(wantedEntry), { signal });
        const shown = changes.map(({ petId, from, to }) => ({ petId: shownId(petId), from, to }));
        return { ...plan, changes: shown, missing: missing.map(shownId), failed: failed.map(shownFailure) };
      }),
  );
  server.registerTool(
    'apply_plan',
    {
      title: 'Apply a plan',
      description:
        'Makes the changes that plan_updates showed, and no others. Applied again, a plan continues where it was interrupted, or sends nothing.',
      inputSchema: APPLY,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    },
    ({ planId }, extra) =>
      answer({ what: 'apply the plan', cancelled: extra.signal, ending }, async (signal) => {
        const onProgress = progressTo(extra);
        const { report, journal } = await plans.apply(planId, { signal, onProgress });
        const undoing = journal !== undefined && { journal, undo: `petstore undo ${shellWord(journal)}` };
        return { ...shownReport(report), ...undoing };
      }),
  );
}

/** @throws UsageError for an update with both or neither of quantity and adjust */
function wantedEntry({ petId, quantity, adjust }: z.infer<typeof Update>): WantedEntry {
  const id = BigInt(petId);
  if (quantity !== undefined && adjust === undefined) return { petId: id, quantity };
  if (adjust !== undefined && quantity === undefined) return { petId: id, adjust };
  throw new UsageError(`Cannot plan for pet ${petId}: give either quantity or adjust`);
}

function shownReport({ missing, failed, pending, error, ...counts }: SyncReport): object {
  return {
    ...counts,
    ...(error && { error: explainError(error) }),
    missing: missing.map(shownId),
    failed: failed.map(shownFailure),
    pending: pending.length,
  };
}

function shownFailure({ petId, quantity, error }: SyncReport['failed'][number]): object {
  return { petId: shownId(petId), quantity, error: error.message };
}

/** A long id is a string, since agents round long numbers in JSON. */
function shownId(petId: PetId): number | string {
  return Number.isSafeInteger(Number(petId)) ? Number(petId) : String(petId);
}

/** Reports progress to the MCP client, if it asked for progress. */
function progressTo({
  _meta,
  sendNotification,
}: Extra): ((progress: { changes: number; updated: number; failed: number }) => void) | undefined {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let told = -1;
  return ({ changes, updated, failed }) => {
    const progress = updated + failed;
    // Each notification must report more progress than the one before (Model Context Protocol, Progress).
    if (changes === 0 || progress <= told) return;
    told = progress;
    const params = { progressToken, progress, total: changes };
    sendNotification({ method: 'notifications/progress', params }).catch(() => {});
  };
}

/** A call of a tool. */
interface Call {
  /** What the tool does, after "Cannot" in a message. */
  what: string;
  /** Aborted when the host cancels the call. */
  cancelled: AbortSignal;
  /** Aborted when the server ends. */
  ending: AbortSignal;
}

/** The answer of a tool: the result as JSON, an error if it has one, or the error with the same text as on the command line. */
async function answer({ what, cancelled, ending }: Call, work: (signal: AbortSignal) => Promise<object>): Promise<CallToolResult> {
  const { signal, stop } = eitherSignal(cancelled, ending);
  try {
    const result = await work(signal);
    return { content: [{ type: 'text', text: JSON.stringify(result) }], ...('error' in result && { isError: true }) };
  } catch (error) {
    const isEnded = error instanceof Interruption;
    const text = isEnded ? `Cannot ${what}: the server ends (${error.message}); try again once it is started again` : explainError(error);
    return { content: [{ type: 'text', text }], isError: true };
  } finally {
    stop();
  }
}
