import { keyFileSource } from '../options/key-file.ts';
import { Redactor, SHORTEST_KEY } from '../redactor.ts';
import type { Terminal } from './terminal.ts';

const redactors = new WeakMap<Terminal, Redactor>();

/** Hides the key of the variables in a text for people: it may quote an argument, option or variable that is the key by mistake. */
export function hideKey(text: string, terminal: Terminal): string {
  const redactor = redactors.get(terminal) ?? redactorFor(terminal);
  redactors.set(terminal, redactor);
  return redactor.hide(text);
}

function redactorFor({ env }: Terminal): Redactor {
  const redactor = new Redactor();
  const key = env.PETSTORE_API_KEY || (env.PETSTORE_API_KEY_FILE && keyOf(env.PETSTORE_API_KEY_FILE)) || '';
  if (key.length >= SHORTEST_KEY) redactor.learn(key);
  return redactor;
}

/** The key of a file; undefined if it cannot be read, which the client reports. */
function keyOf(path: string): string | undefined {
  try {
    return keyFileSource(path)();
  } catch {
    return undefined;
  }
}
