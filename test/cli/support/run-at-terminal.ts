import { spawn } from 'node:child_process';

/** What is typed, and the text on the screen that it waits for. */
export interface Typing {
  after: string;
  keys: string;
}

/** A person does not type at once: what comes together with another signal counts as the same. */
const TYPING_MS = 300;

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
    if (!left[0] || !screen.includes(left[0].after)) return;
    const { keys } = left[0];
    left.shift();
    setTimeout(() => child.stdin.write(keys), TYPING_MS);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, screen }));
  });
}
