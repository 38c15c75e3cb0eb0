import { startSteadyTimer } from '../clock/timer.ts';
import { EXIT, Interruption } from './exit-code.ts';
import { StatusLine } from './status-line.ts';
import { tell } from './tell.ts';
import type { Terminal } from './terminal.ts';

const INTERRUPTIONS = {
  SIGINT: { message: 'interrupted', exitCode: EXIT.interrupted },
  SIGTERM: { message: 'terminated', exitCode: EXIT.terminated },
  SIGHUP: { message: 'the terminal was closed', exitCode: EXIT.hungUp },
} as const;

export interface InterruptOptions {
  /** What is printed at the first signal, if anything. */
  notice?: () => string | undefined;
  /** Aborts the command at this instant. */
  until?: { atMs: number; option: string } | undefined;
}

export interface Interrupts {
  signal: AbortSignal;
  /** Aborts the signal. */
  end: (interruption: Interruption) => void;
  /** Lets the time of `until` pass without an effect, once nothing more is sent. */
  stopTimer: () => void;
  stopListening: () => void;
}

/** The abort signal of a command: the first interrupt aborts it, the second one ends the process at once. */
export function interruptSignal(terminal: Terminal, { notice, until }: InterruptOptions = {}): Interrupts {
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
  const stopTimer = until ? startSteadyTimer(until.atMs - terminal.now(), timeIsUp) : () => {};
  const stopListening = (): void => {
    ignore();
    stopTimer();
  };
  return { signal: controller.signal, end: (interruption) => controller.abort(interruption), stopTimer, stopListening };
}
