import { inspect } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { Redactor } from '../../src/redactor.ts';
import { createCredentials } from '../../src/transport/credentials.ts';
import { rejectionOf } from '../support/outcome.ts';

describe('createCredentials', () => {
  test('gives a fixed key, known to the redactor from the start', () => {
    const redactor = new Redactor();
    expect(createCredentials('psk_1', redactor)).toBe('psk_1');
    expect(redactor.hide('psk_1')).toBe('***');
  });

  test('calls a function for every request, and the redactor learns each key', async () => {
    const redactor = new Redactor();
    const source = vi.fn(() => `psk_${source.mock.calls.length}`);
    const credentials = createCredentials(source, redactor);
    expect(source).not.toHaveBeenCalled();
    expect([await credentials(), await credentials()]).toEqual(['psk_1', 'psk_2']);
    expect(redactor.hide('psk_1 psk_2')).toBe('*** ***');
  });

  test('waits for a function that takes its time', async () => {
    expect(await createCredentials(async () => 'psk_1', new Redactor())()).toBe('psk_1');
  });

  test.each([
    () => {
      throw new Error('vault sealed');
    },
    async () => {
      throw new Error('vault sealed');
    },
  ])('rejects with a ConfigurationError whose cause is what the function threw', async (source) => {
    expect(await rejectionOf(Promise.resolve(createCredentials(source, new Redactor())()))).toMatchObject({
      kind: 'configuration',
      option: 'apiKey',
      message: 'Cannot send the request: the `apiKey` function failed to give a key',
      cause: { message: 'vault sealed' },
    });
  });

  test.each(['', 'psk hunter2', 'Bearer hunter2', 'hunter2\n'])('rejects the malformed key %j without showing it', async (key) => {
    const error = await rejectionOf(Promise.resolve(createCredentials(() => key, new Redactor())()));
    expect(error).toMatchObject({ kind: 'configuration', option: 'apiKey' });
    expect(inspect(error)).not.toContain('hunter2');
  });

  test('rejects a key that is not a string', async () => {
    const source: () => string = () => Reflect.get({}, 'missing');
    expect(await rejectionOf(Promise.resolve(createCredentials(source, new Redactor())()))).toMatchObject({
      option: 'apiKey',
      message: 'Cannot use this value from the `apiKey` function as `apiKey`: it must be a string or a function that gives one',
    });
  });
});
