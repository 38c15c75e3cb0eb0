import { enableCompileCache } from 'node:module';
import type { Terminal } from './terminal.ts';

// What is imported from here on is compiled once for all runs.
enableCompileCache();
const { runCli } = await import('./run-cli.ts');

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
