import { spawn } from 'node:child_process';

/** What is typed, and the text on the screen that it waits for. */
export interface Typing {
  after: string;
  keys: string;
}

/** Runs a program at a terminal of its own (`script` of util-linux makes one), and gives its exit code and all that it wrote there. */
export function runAtTerminal(
  words: readonly string[],
  { typed, env }: { typed: readonly Typing[]; env: NodeJS.ProcessEnv },
): Promise<{ code: number | null; screen: string }> {
  const command = words.map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], { env: { TERM: 'xterm', ...env } });
  const left = [...typed];
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    screen += text;
    if (left[0] && screen.includes(left[0].after)) child.stdin.write(left.shift()?.keys ?? '');
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, screen }));
  });
}
