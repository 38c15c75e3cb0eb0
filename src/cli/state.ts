import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod/mini';
import { quotaStoreOn, recordName } from '../node/file-quota-store.ts';
import { QuotaFile } from '../node/quota-file.ts';
import { FUTURE_MS } from '../node/quota-record.ts';
import { showOrigin } from '../options/base-url.ts';
import type { QuotaStore, StoreKey } from '../quota-store.ts';
import { exchangeRedisLock, forgetQuota, type LockRequest, NoRedisLibraryError, openRedis } from '../redis/open-redis.ts';
import { redisQuotaStore } from '../redis/redis-quota-store.ts';
import { messageOf } from '../thrown.ts';
import { tell } from './tell.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

/** How long a lock is held at a time: one that its holder has not renewed for this long is free. */
export const HELD_MS = 30_000;

/**
 * Takes or renews a lock for `heldMs`, or releases it if `heldMs` is 0. If another process holds the lock, nothing changes, and the result
 * is that holder's text and the time until its lock expires. A lock is void if only the clock of this machine says that it is over, so that
 * its holder may still renew it, or if its record is damaged, so that its holder, whose renewal fails, ends. With `takesVoid`, such a lock
 * is taken. Without `isVoid`, the store frees a lock that expires by itself.
 */
export type LockExchange = (request: LockRequest) => Promise<{ text: string; leftMs: number; isVoid?: boolean | undefined } | undefined>;

/** The state that runs share, on one machine or on several. */
export interface SharedState {
  /** How messages name it: a path, the value of the option, or the origin of a Redis server. */
  readonly name: string;
  readonly quotaStore: QuotaStore;
  /** Forgets the quota of a key. */
  forget(key: StoreKey): Promise<void>;
  lock(name: string): LockExchange;
  close(): void;
}

/**
 * Opens the state that `--quota-store` names, or else the state that all runs of this user share.
 *
 * @throws UsageError, or an Error if this user's state cannot be opened and `needsState`, an option, cannot do without
 */
export async function openState(
  { quotaStore, state, needsState }: { quotaStore?: string; state?: boolean; needsState?: string | undefined },
  terminal: Terminal,
): Promise<SharedState | undefined> {
  if (quotaStore !== undefined) return openNamed(quotaStore);
  return state === false ? undefined : openOwn(needsState, terminal);
}

/**
 * Forgets what runs of this user share about keys at addresses whose service counts from zero again. If that fails, the command prints the
 * reason and goes on.
 */
export async function forgetShared({ addresses, apiKeys }: { addresses: string[]; apiKeys: string[] }, terminal: Terminal): Promise<void> {
  const path = ownPath(terminal);
  if (path === undefined || !existsSync(path)) return;
  let state: SharedState | undefined;
  try {
    state = onFile(path, path);
    for (const address of addresses) for (const apiKey of apiKeys) await state.forget({ address, apiKey });
  } catch (error) {
    tell(terminal, `petstore: the quota that runs share is not reset: ${ownReason(error)} (petstore quota --reset resets that of one key)`);
  } finally {
    state?.close();
  }
}

/** The file that holds what runs share, if there is one, by its name in messages. */
export function stateFiles({ quotaStore }: { quotaStore?: string }, terminal: Terminal): Record<string, string | undefined> {
  return quotaStore === undefined ? { 'the file that runs share': ownPath(terminal) } : { '--quota-store': filePath(quotaStore) };
}

function filePath(place: string): string | undefined {
  return /^file:(?:\/\/)?(.+)$/.exec(place)?.[1];
}

async function openNamed(place: string): Promise<SharedState> {
  const path = filePath(place);
  if (path !== undefined) return onFile(path, place);
  if (/^rediss?:\/\//.test(place) && URL.canParse(place)) return onRedis(place);
  // An address may hold a password.
  const shown = place.includes('@') ? 'this' : JSON.stringify(place);
  throw new UsageError(`Cannot use ${shown} as --quota-store: it must be file:PATH or redis://HOST:PORT`);
}

function ownPath(terminal: Terminal): string | undefined {
  const folder = stateFolder(terminal, process.platform);
  return folder === undefined ? undefined : join(folder, 'quota.db');
}

/** If this user's state cannot be opened, a command that does not need it prints the reason and runs without it. */
function openOwn(needsState: string | undefined, terminal: Terminal): SharedState | undefined {
  const path = ownPath(terminal);
  if (path === undefined) return undefined;
  try {
    makeFolder(dirname(path));
    return onFile(path, path);
  } catch (error) {
    const reason = ownReason(error);
    const why = `${reason}${reason.includes('; ') ? ', or' : ';'} name a place with --quota-store`;
    if (needsState !== undefined) throw new Error(`Cannot use ${needsState} without the state that runs share: ${why}`, { cause: error });
    tell(terminal, `petstore: this run does not share the quota with others: ${why} (--no-state turns sharing off)`);
    return undefined;
  }
}

/** Why the file of this user's state cannot be used. It has one place, so that advice to name another file could not be followed. */
function ownReason(error: unknown): string {
  return messageOf(error)
    .replace(/^Cannot use (.+) as the file of a quota store: /, '$1: ')
    .replace(/name (?:another file|a file in it)$/, 'delete it');
}

function onFile(path: string, name: string): SharedState {
  const file = new QuotaFile(path);
  return {
    name,
    quotaStore: quotaStoreOn(file),
    forget: async (key) => file.forget(recordName(key)),
    lock: (name) => async (request) => file.change(`lock:${name}`, Date.now, (kept, nowMs) => exchangeLock(kept, request, nowMs)),
    close: () => file.close(),
  };
}

const KeptLock = z.object({ id: z.string(), text: z.string(), untilMs: z.number() });
const RELEASED = 0;
/** A lock is needed until it is released: its holder may be suspended for any time, as with a laptop, and goes on afterwards. */
const WHILE_HELD = { neededUntilMs: Number.MAX_SAFE_INTEGER };
const DAMAGED = { id: '', text: '' };

/** What a run has written about itself; undefined if it is damaged, or another program's. */
export function readRecord<Kept>(schema: z.ZodMiniType<Kept>, text: string): Kept | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function exchangeLock(
  kept: string | undefined,
  { id, text, heldMs, takesVoid, isLate }: LockRequest,
  nowMs: number,
): { record: string; neededUntilMs?: number; response: Awaited<ReturnType<LockExchange>> } {
  const held = kept === undefined ? undefined : (readRecord(KeptLock, kept) ?? { ...DAMAGED, untilMs: nowMs });
  const leftMs = (held?.untilMs ?? 0) - nowMs;
  // It has expired, or was taken so far in the future that the clock must have been set back since.
  const isVoid = leftMs <= 0 || leftMs - HELD_MS > FUTURE_MS;
  if (kept !== undefined && held && held.id !== id && held.untilMs !== RELEASED && !(isVoid && takesVoid))
    return { record: kept, ...WHILE_HELD, response: { text: held.text, leftMs, isVoid } };
  if (isLate && held?.id !== id)
    return { record: kept ?? JSON.stringify({ id, text, untilMs: RELEASED }), response: { text: held?.text ?? '', leftMs: 0 } };
  if (heldMs === 0) return { record: JSON.stringify({ id, text, untilMs: RELEASED }), response: undefined };
  return { record: JSON.stringify({ id, text, untilMs: nowMs + heldMs }), ...WHILE_HELD, response: undefined };
}

/** The place of a quota store that was opened, without user and password. */
export function showPlace(place: string): string {
  return place.startsWith('file:') ? place : showOrigin(new URL(place));
}

async function onRedis(url: string): Promise<SharedState> {
  const shown = showPlace(url);
  const { client, close } = await openRedis(url).catch((error: unknown) => {
    const why = messageOf(error);
    const message = `Cannot use ${shown} as --quota-store: ${why}`;
    const Failure = error instanceof NoRedisLibraryError ? UsageError : Error;
    throw new Failure(message, { cause: error });
  });
  return {
    name: shown,
    quotaStore: redisQuotaStore(client),
    forget: (key) => forgetQuota(client, key),
    lock: (name) => (request) => exchangeRedisLock(client, { ...request, name }),
    close,
  };
}

/** The folder for a program's state (not settings, not cache) on this system; undefined for a user without a home folder. */
export function stateFolder({ env, home }: Pick<Terminal, 'env' | 'home'>, platform: NodeJS.Platform): string | undefined {
  const { XDG_STATE_HOME, LOCALAPPDATA } = env;
  if (platform === 'win32') return LOCALAPPDATA ? join(LOCALAPPDATA, 'petstore') : undefined;
  // A path that is not absolute is ignored (XDG Base Directory Specification): each folder of a run would have a state of its own.
  const absoluteHome = home?.startsWith('/') ? home : undefined;
  if (platform === 'darwin') return absoluteHome && join(absoluteHome, 'Library', 'Application Support', 'petstore');
  if (XDG_STATE_HOME?.startsWith('/')) return join(XDG_STATE_HOME, 'petstore');
  return absoluteHome && join(absoluteHome, '.local', 'state', 'petstore');
}

/**
 * Makes a folder that only its user can read, and the folders above it that are missing. Node's `recursive` never returns where a folder
 * refuses every new name with ENOENT, as /proc does.
 */
export function makeFolder(path: string): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // It is there already, or another process has made it meanwhile.
    if (!existsSync(path)) throw error;
  }
}
