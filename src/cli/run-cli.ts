import { CommanderError } from 'commander';
import { EXIT, exitCodeOf } from './exit-code.ts';
import { errorDetails, explainError } from './explain-error.ts';
import { Interruption } from './interrupt.ts';
import { createProgram } from './program.ts';
import { tell } from './tell.ts';
import { ReaderGoneError, type Terminal } from './terminal.ts';

/**
 * Runs one command and gives its exit code; it never throws and never ends the process by itself.
 *
 * @param words What stands after the program's name.
 */
export async function runCli(words: readonly string[], terminal: Terminal): Promise<number> {
  try {
    let exitCode: number = EXIT.done;
    const program = createProgram(terminal, (code) => {
      exitCode = code;
    });
    await program.parseAsync(words, { from: 'user' });
    return exitCode;
  } catch (error) {
    return explain(error, terminal, words.includes('--verbose') || words.includes('-v'));
  }
}

function explain(error: unknown, terminal: Terminal, isVerbose: boolean): number {
  // Commander has told what is wrong.
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

/** A failure that its message may not explain in full. */
function hint(error: unknown): string {
  return exitCodeOf(error) === EXIT.failure ? ' (--verbose shows more)' : '';
}
