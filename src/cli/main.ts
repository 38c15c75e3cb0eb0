import { setFlagsFromString } from 'node:v8';
import { runCli } from './run-cli.ts';
import type { Terminal } from './terminal.ts';

// Reading a million rows makes much garbage and keeps little: V8 would let its nursery grow by 100 MB for it.
setFlagsFromString('--semi-space-growth-factor=1');

const terminal: Terminal = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  onInterrupt: (listener) => {
    const [onInt, onTerm] = [() => listener('SIGINT'), () => listener('SIGTERM')];
    process.on('SIGINT', onInt).on('SIGTERM', onTerm);
    return () => process.off('SIGINT', onInt).off('SIGTERM', onTerm);
  },
  exit: (code) => process.exit(code),
  now: Date.now,
};

// Failed writes are told to whoever wrote; without a listener they would end the process with a stack.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

process.exitCode = await runCli(process.argv.slice(2), terminal);
// What is still open, such as a stdin that nobody reads to its end, shall not keep the process.
process.stdin.unref?.();
