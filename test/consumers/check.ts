import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** One thing that people do with the package. */
export interface Check {
  title: string;
  /** Throws where it does not work; may give a figure worth telling. */
  run(): Promise<string | undefined>;
}

export const run = promisify(execFile);

/** Throws unless a program wrote exactly these lines, and nothing to its error output. */
export async function expectLines(program: string, args: readonly string[], lines: readonly string[]): Promise<undefined> {
  const { stdout, stderr } = await run(program, args, { env: { PATH: process.env.PATH, HOME: process.env.HOME } });
  const found = stdout.trim().split('\n').sort();
  if (found.join('\n') !== [...lines].sort().join('\n') || stderr !== '') throw new Error(`it wrote:\n${stdout}${stderr}`);
}

/** What every sample program writes. */
export const PROGRAM_LINE = '3 8 NotFoundError';
