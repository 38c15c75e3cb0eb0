import { startSteadyTimer } from '../clock/timer.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { StatusLine } from './status-line.ts';
import { tell } from './tell.ts';
import type { Terminal } from './terminal.ts';

/** Why a command was stopped: SIGINT, SIGTERM, SIGHUP, the time of `--until`, or a lost lock. */
export class Interruption extends DOMException {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode) {
    super(message, 'AbortError');
    this.exitCode = exitCode;
  }
}

const INTERRUPTIONS = {
  SIGINT: { message: 'interrupted', exitCode: EXIT.interrupted },
  SIGTERM: { message: 'terminated', exitCode: EXIT.terminated },
  SIGHUP: { message: 'the terminal was closed', exitCode: EXIT.hungUp },
} as const;

interface InterruptOptions {
  /** What is printed at the first signal, if anything. */
  notice?: () => string | undefined;
  /** Aborts the command at this instant. */
  until?: { atMs: number; option: string } | undefined;
}

/** The abort signal of a command: the first interrupt aborts it, the second one ends the process at once. */
export function interruptSignal(
  terminal: Terminal,
  { notice, until }: InterruptOptions = {},
): { signal: AbortSignal; end: (interruption: Interruption) => void; stopListening: () => void } {
  const controller = new AbortController();
  let isInterrupted = false;
  const ignore = terminal.onInterrupt((name) => {
    const { message, exitCode } = INTERRUPTIONS[name];
    if (isInterrupted) {
      StatusLine.of(terminal).clear();
      return terminal.exit(exitCode);
    }
    isInterrupted = true;
    const line = notice?.();
    if (line !== undefined) tell(terminal, line);
    controller.abort(new Interruption(message, exitCode));
  });
  const timeIsUp = (): void => controller.abort(new Interruption(`the time is up (--until ${until?.option})`, EXIT.quota));
  const stopTimer = until && startSteadyTimer(until.atMs - terminal.now(), timeIsUp);
  const stopListening = (): void => {
    ignore();
    stopTimer?.();
  };
  return { signal: controller.signal, end: (interruption) => controller.abort(interruption), stopListening };
}
