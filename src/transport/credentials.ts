import { ConfigurationError } from '../errors.ts';
import { type ApiKeySource, checkApiKey } from '../options/client-options.ts';
import { readVariable } from '../options/environment.ts';
import { originOf } from '../options/key-file.ts';
import { type Redactor, SHORTEST_KEY } from '../redactor.ts';
import { fieldOf } from '../thrown.ts';
import { safeCause } from './safe-cause.ts';

/** The key, or a function that gives the key of the next request; checked, and known to the redactor before anything can show it. */
export type Credentials = string | (() => Promise<string>);

/** Lets the redactor hide a key that is given as text, before the options are checked: one of them may be the key by mistake. */
export function learnKey(options: unknown, redactor: Redactor): void {
  const key = fieldOf(options, 'apiKey') ?? readVariable('PETSTORE_API_KEY');
  if (typeof key === 'string' && key.length >= SHORTEST_KEY) redactor.learn(key);
}

export function createCredentials(apiKey: ApiKeySource, redactor: Redactor): () => Promise<string>;
export function createCredentials(apiKey: string | ApiKeySource, redactor: Redactor): Credentials;
export function createCredentials(apiKey: string | ApiKeySource, redactor: Redactor): Credentials {
  if (typeof apiKey === 'string') {
    redactor.learn(apiKey);
    return apiKey;
  }
  return async () => {
    const key = checkApiKey(await askFor(apiKey, redactor), originOf(apiKey));
    redactor.learn(key);
    return key;
  };
}

/** An error of the caller's function may hold secrets, so only a cleaned copy of it becomes the cause. */
async function askFor(source: ApiKeySource, redactor: Redactor): Promise<unknown> {
  try {
    return await source();
  } catch (thrown) {
    const cause = safeCause(thrown, redactor);
    throw new ConfigurationError('Cannot send the request: the `apiKey` function failed to give a key', { option: 'apiKey', cause });
  }
}
