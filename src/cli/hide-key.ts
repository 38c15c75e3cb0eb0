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
  const key = keyOf(env);
  if (key.length >= SHORTEST_KEY) redactor.learn(key);
  return redactor;
}

/** The key of the variables; empty if there is none, or if its file cannot be read, which the client reports. */
export function keyOf({ PETSTORE_API_KEY: key, PETSTORE_API_KEY_FILE: file }: Terminal['env']): string {
  if (key || !file) return key ?? '';
  try {
    return keyFileSource(file)();
  } catch {
    return '';
  }
}
