import nodeModule from 'node:module';
import { userInfo } from 'node:os';
import { setTimeout } from 'node:timers';
import { cacheFolder } from './cache-folder.ts';
import type { Terminal } from './terminal.ts';

// Checked before anything is imported that an older Node does not have.
const OLDEST = { major: 22, minor: 13 };
const [major = 0, minor = 0] = process.version.slice(1).split('.').map(Number);
if (major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor)) {
  console.error(`petstore: needs Node ${OLDEST.major}.${OLDEST.minor} or newer, and this is ${process.version}`);
  process.exit(2);
}

// Node keeps the compiled code of all modules that are imported after this call. Deno has no such cache.
const cache = 'enableCompileCache' in nodeModule ? cacheFolder() : undefined;
if (cache !== undefined) nodeModule.enableCompileCache(cache);
const { runCli } = await import('./run-cli.ts');
const { PATIENCE_MS } = await import('./terminal.ts');

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Programs that start others pass on a signal that their child got as well: GNU timeout does so with its own, and with --foreground with
 * Ctrl-C. A person takes longer.
 */
const SAME_SIGNAL_MS = 200;

let isToldToEnd = false;

const terminal: Terminal = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  // An empty variable counts as unset.
  home: process.env.HOME || homeOfUser(),
  onInterrupt: (listener) => {
    let sameUntilMs = 0;
    const onSignal = (signal: (typeof SIGNALS)[number]): void => {
      if (performance.now() < sameUntilMs) return;
      isToldToEnd = true;
      listener(signal);
      sameUntilMs = performance.now() + SAME_SIGNAL_MS;
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
    const stop = (): void => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    };
    return () => void setTimeout(stop, Math.max(0, sameUntilMs - performance.now())).unref();
  },
  exit: (code) => process.exit(code),
  now: Date.now,
};

/** The home folder in the system's list of users, such as /etc/passwd; undefined if it lacks the user, or Deno does not permit to read it. */
function homeOfUser(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    return undefined;
  }
}

// Each write reports its own failure. Without these listeners, an error event would end the process with a stack trace.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

process.exitCode = await runCli(process.argv.slice(2), terminal);
// A stdin that was not read to its end must not keep the process alive.
process.stdin.unref?.();
// Nor must Node's fetch: behind a proxy that closes its connections it connects again for ever, even for calls that have ended. What the
// command printed is written first, since pipes are asynchronous, and a reader may pause, as `less` does.
const isWriting = (stream: NodeJS.WriteStream): boolean => !stream.destroyed && stream.writableLength > 0;
const impatientAtMs = isToldToEnd ? performance.now() + PATIENCE_MS : Number.POSITIVE_INFINITY;
const leave = (): void => {
  const isPatient = performance.now() < impatientAtMs;
  if (isPatient && [process.stdout, process.stderr].some(isWriting)) setTimeout(leave, 100).unref();
  else process.exit();
};
setTimeout(leave, 1_000).unref();
