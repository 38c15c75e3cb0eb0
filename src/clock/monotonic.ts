/** From such a jump of the machine's clock against the monotonic one on, it is checked whether the machine was suspended. */
const JUMP_MS = 5_000;
/** By how much the two measures of a suspension may differ. */
const PRECISION_MS = 2_000;

declare const process: { getBuiltinModule: (name: 'os') => { uptime(): number } };

/** What the clocks showed at one moment. */
interface Moment {
  monotonicMs: number;
  wallMs: number;
  /** Since the machine started, suspensions included; undefined if the runtime does not tell. */
  uptimeMs: number | undefined;
}

let compared: Moment | undefined;
// What the runtime's clock showed last, and by how much this clock is ahead of it.
let latestMs = 0;
let aheadMs = 0;

/**
 * Milliseconds on a monotonic clock. Durations are measured on it, so that setting the machine's date changes no wait. Where the runtime
 * tells how long the machine has been up, the time in which it was suspended counts too, which most monotonic clocks leave out. Fake timers
 * begin at 0 in each test, but not this clock: instants that have passed, such as the end of a Retry-After, would come again. If the runtime
 * has no such clock, the machine's clock is used.
 */
export function monotonicMs(): number {
  const nowMs = globalThis.performance?.now();
  const wallMs = Date.now();
  if (nowMs === undefined) return wallMs;
  compared ??= momentAt(nowMs, wallMs);
  if (Math.abs(wallMs - compared.wallMs - (nowMs - compared.monotonicMs)) > JUMP_MS) compareAgain(compared, momentAt(nowMs, wallMs));
  // Whole milliseconds, so that those of fake timers stay whole.
  if (nowMs < latestMs) aheadMs += Math.ceil(latestMs - nowMs);
  latestMs = nowMs;
  return nowMs + aheadMs;
}

function momentAt(monotonicMs: number, wallMs: number): Moment {
  return { monotonicMs, wallMs, uptimeMs: readUptimeMs() };
}

/** Browsers have no `process`, and other runtimes may lack a part of this, or throw. */
function readUptimeMs(): number | undefined {
  try {
    return process.getBuiltinModule('os').uptime() * 1000;
  } catch {
    return undefined;
  }
}

/** After a suspension, both the machine's clock and its uptime are ahead by the same time. Otherwise the date was set. */
function compareAgain(before: Moment, now: Moment): void {
  compared = now;
  if (before.uptimeMs === undefined || now.uptimeMs === undefined) return;
  const passedMs = now.monotonicMs - before.monotonicMs;
  const [byWallMs, byUptimeMs] = [now.wallMs - before.wallMs - passedMs, now.uptimeMs - before.uptimeMs - passedMs];
  if (passedMs >= 0 && byUptimeMs > 0 && Math.abs(byWallMs - byUptimeMs) <= PRECISION_MS) aheadMs += byUptimeMs;
}
