import { type Command, CommanderError } from 'commander';
import type { CommonOptions } from './connect.ts';
import { EXIT, exitCodeOf, Interruption } from './exit-code.ts';
import { errorDetails, explainError } from './explain-error.ts';
import { createProgram } from './program.ts';
import { tell } from './tell.ts';
import { ReaderGoneError, type Terminal, writeText } from './terminal.ts';
import { UsageError } from './usage-error.ts';

/**
 * Runs one command and returns its exit code. Never throws, and does not end the process unless a second interrupt asks for it.
 *
 * @param words The arguments after the program's name.
 */
export async function runCli(words: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT.done;
  let isVerbose = false;
  let help = Promise.resolve();
  const exit = (code: number): void => {
    exitCode = code;
  };
  const writeOut = (text: string): void => {
    help = help.then(() => writeText(terminal.stdout, text));
  };
  try {
    const program = createProgram(terminal, { exit, writeOut }).hook('preAction', (_program, command) => {
      isVerbose = command.opts<CommonOptions>().verbose === true;
      refuseMissingValues(command);
    });
    await program.parseAsync(words, { from: 'user' });
    return exitCode;
  } catch (error) {
    const failure = await help.then(
      () => error,
      (cannotWrite: unknown) => cannotWrite,
    );
    return explain(failure, terminal, isVerbose);
  }
}

/**
 * Refuses an empty value and the next option as a value: a script gives these if its variable is not set. Otherwise `--journal --dry-run`
 * would name a journal, and send updates. @throws UsageError
 */
function refuseMissingValues(command: Command): void {
  for (const option of command.options) {
    const values = [command.getOptionValue(option.attributeName())].flat();
    if (values.includes('')) throw new UsageError(`Cannot use ${option.long} with an empty value: is the variable that it comes from set?`);
    if (values.some(isOption)) throw new UsageError(`Cannot use ${option.long} without a value: another option follows it`);
  }
}

function isOption(value: unknown): boolean {
  return typeof value === 'string' && /^-[-a-z]/i.test(value);
}

function explain(error: unknown, terminal: Terminal, isVerbose: boolean): number {
  // Commander has already printed the message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof ReaderGoneError) return EXIT.done;
  if (error instanceof Interruption) {
    tell(terminal, `petstore: ${error.message}`);
    return error.exitCode;
  }
  tell(terminal, `petstore: ${explainError(error)}${isVerbose ? '' : hint(error)}`);
  if (isVerbose) tell(terminal, errorDetails(error));
  return exitCodeOf(error);
}

/** Points to --verbose when the exit code does not name the cause. */
function hint(error: unknown): string {
  return exitCodeOf(error) === EXIT.failure ? ' (--verbose shows more)' : '';
}
