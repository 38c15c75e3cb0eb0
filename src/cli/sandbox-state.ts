import * as z from 'zod/mini';
import { counted, duration } from './duration.ts';

const Window = z.object({ limit: z.number(), remaining: z.number(), resetAtMs: z.number() });
const Instant = z.nullable(z.number());
const State = z.object({
  nowMs: z.number(),
  keys: z.array(
    z.object({
      key: z.string(),
      plan: z.string(),
      minute: Window,
      day: z.optional(Window),
      penaltyUntilMs: Instant,
      bannedUntilMs: Instant,
    }),
  ),
  report: z.object({ requests: z.number(), rateLimited: z.number(), duringPenalty: z.number(), bans: z.number(), faults: z.number() }),
});
type State = z.infer<typeof State>;

/** Reads the state of a served sandbox: what each key has left in production, and the request counts. */
export async function readSandboxState(pageUrl: string): Promise<State> {
  const answer = await ask(`${pageUrl}page/state`);
  const state = State.safeParse(await answer.json().catch(() => undefined));
  if (!answer.ok || !state.success)
    throw new Error(`Cannot read the state at ${pageUrl}: the server there is not a sandbox of this version`);
  return state.data;
}

/** Resets a served sandbox to its initial stock, with full quotas and no requests. */
export async function resetSandbox(pageUrl: string): Promise<void> {
  const answer = await ask(`${pageUrl}page/reset`, { method: 'POST', headers: { 'x-sandbox-reset': '1' } });
  if (!answer.ok) throw new Error(`Cannot reset the sandbox at ${pageUrl}: the server there is not a sandbox of this version`);
}

async function ask(url: string, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) });
  } catch {
    throw new Error(`Cannot reach a sandbox at ${new URL(url).origin}/: start it with \`petstore sandbox\`, and name its --port here`);
  }
}

export function describeState({ nowMs, keys, report }: State): string {
  const lines = keys.map(({ plan, minute, day, penaltyUntilMs, bannedUntilMs }) => {
    const windows = [describeWindow('minute', minute, nowMs), ...(day ? [describeWindow('day', day, nowMs)] : [])];
    const closed = [describeUntil('banned', bannedUntilMs, nowMs), describeUntil('asked to wait', penaltyUntilMs, nowMs)].filter(Boolean);
    return `${plan.padEnd(10)}${[...windows, ...closed].join('; ')}\n`;
  });
  const { requests, rateLimited, duringPenalty, bans } = report;
  const counts = `${counted(requests, 'request')}, ${rateLimited} with 429, ${duringPenalty} during a penalty, ${counted(bans, 'ban')}\n`;
  return `${lines.join('')}${counts}`;
}

function describeWindow(name: string, { limit, remaining, resetAtMs }: z.infer<typeof Window>, nowMs: number): string {
  return `${name} ${remaining} of ${limit} left, resets in ${duration(Math.max(0, resetAtMs - nowMs))}`;
}

function describeUntil(what: string, untilMs: number | null, nowMs: number): string {
  return untilMs !== null && untilMs > nowMs ? `${what} for ${duration(untilMs - nowMs)}` : '';
}
