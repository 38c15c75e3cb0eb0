import nodeModule from 'node:module';
import type { Terminal } from './terminal.ts';

// Checked before anything is imported that an older Node does not have.
const OLDEST_NODE = 22;
if (Number.parseInt(process.version.slice(1), 10) < OLDEST_NODE) {
  console.error(`petstore: needs Node ${OLDEST_NODE} or newer, and this is ${process.version}`);
  process.exit(2);
}

// Node keeps the compiled code of all modules that are imported after this call.
nodeModule.enableCompileCache();
const { runCli } = await import('./run-cli.ts');

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const terminal: Terminal = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  onInterrupt: (listener) => {
    for (const signal of SIGNALS) process.on(signal, listener);
    return () => {
      for (const signal of SIGNALS) process.off(signal, listener);
    };
  },
  exit: (code) => process.exit(code),
  now: Date.now,
};

// Each write reports its own failure. Without these listeners, an error event would end the process with a stack trace.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

process.exitCode = await runCli(process.argv.slice(2), terminal);
// A stdin that was not read to its end must not keep the process alive.
process.stdin.unref?.();
