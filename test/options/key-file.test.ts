import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PetStoreClient } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { rejectionOf, thrownBy } from '../support/outcome.ts';

const { keys, baseUrl, fetch, revokeKey } = createSandbox();
let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'petstore-key-'));
  path = join(folder, 'api-key');
  vi.stubEnv('PETSTORE_API_KEY', undefined);
  vi.stubEnv('PETSTORE_API_KEY_FILE', path);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

describe('PETSTORE_API_KEY_FILE', () => {
  test('gives the key of the file, without the newline at its end', async () => {
    await writeFile(path, `${keys.pro}\n`);
    expect(await new PetStoreClient({ baseUrl, fetch }).listInventory()).toHaveLength(12);
  });

  test('is read again once the file was replaced', async () => {
    await writeFile(path, keys.free);
    const petstore = new PetStoreClient({ baseUrl, fetch });
    await petstore.listInventory();
    revokeKey(keys.free);
    await writeFile(`${path}.new`, keys.pro);
    await rename(`${path}.new`, path);
    expect(await petstore.listInventory()).toHaveLength(12);
  });

  test('that is deleted leaves the key that was read', async () => {
    await writeFile(path, keys.pro);
    const petstore = new PetStoreClient({ baseUrl, fetch });
    await rm(path);
    expect(await petstore.listInventory()).toHaveLength(12);
  });

  test('that is empty while it is written anew leaves the key that was read, and is read again for the next request', async () => {
    const sent: unknown[] = [];
    const noting: typeof fetch = async (_input, init) => {
      sent.push(new Headers(init?.headers).get('authorization'));
      return Response.json([]);
    };
    const write = async (key: string) => {
      await writeFile(path, key);
      await utimes(path, 1_000_000_000, 1_000_000_000);
    };
    await writeFile(path, 'psk_old');
    const petstore = new PetStoreClient({ baseUrl, fetch: noting });
    await write('');
    await petstore.listInventory();
    // The second write leaves the file's time as the first one set it.
    await write('psk_new');
    await petstore.listInventory();
    expect(sent).toEqual(['Bearer psk_old', 'Bearer psk_new']);
  });

  test('that holds more than a key when it is replaced is named in the error', async () => {
    await writeFile(path, keys.pro);
    const petstore = new PetStoreClient({ baseUrl, fetch });
    await writeFile(path, `PETSTORE_API_KEY=psk 1`);
    expect(await rejectionOf(petstore.listInventory())).toMatchObject({
      kind: 'configuration',
      message: expect.stringContaining(
        'Cannot use this value from the file of PETSTORE_API_KEY_FILE as `apiKey`: it must be visible ASCII',
      ),
    });
  });

  test('that two clients use is one source, so that they share a gate', async () => {
    await writeFile(path, keys.business);
    const [first, second] = [new PetStoreClient({ baseUrl, fetch }), new PetStoreClient({ baseUrl, fetch })];
    await first.listInventory();
    expect(second.quota).toEqual(first.quota);
  });

  test.each([
    ['is missing', async () => {}, /: ENOENT: no such file or directory/],
    ['is empty', () => writeFile(path, '\n'), /: it is empty$/],
    [
      'holds more than a key',
      () => writeFile(path, 'PETSTORE_API_KEY=psk 1'),
      / from the file of PETSTORE_API_KEY_FILE as `apiKey`: it must be visible ASCII/,
    ],
  ])('that %s is refused by the constructor', async (_what, make, why) => {
    await make();
    expect(thrownBy(() => new PetStoreClient({ baseUrl }))).toMatchObject({ option: 'apiKey', message: expect.stringMatching(why) });
  });

  test('that the system fails to read is refused with its error as the cause', () => {
    vi.stubEnv('PETSTORE_API_KEY_FILE', tmpdir());
    expect(thrownBy(() => new PetStoreClient({ baseUrl }))).toMatchObject({ option: 'apiKey', cause: { code: 'EISDIR' } });
  });

  test('together with PETSTORE_API_KEY is refused, and the option apiKey wins over both', async () => {
    vi.stubEnv('PETSTORE_API_KEY', keys.pro);
    expect(thrownBy(() => new PetStoreClient({ baseUrl }))).toMatchObject({ message: expect.stringContaining('unset one') });
    expect(await new PetStoreClient({ apiKey: keys.pro, baseUrl, fetch }).listInventory()).toHaveLength(12);
  });

  test('may be a pipe, which can be read only once', async () => {
    const program = `
      import { PetStoreClient } from 'petstore-inventory';
      const seen = [];
      const fetch = async (_url, { headers }) => (seen.push(headers.authorization), Response.json([]));
      const petstore = new PetStoreClient({ baseUrl: 'https://pets.test/v1', fetch });
      await petstore.listInventory();
      await petstore.listInventory();
      console.log(seen.join());`;
    const shell = 'PETSTORE_API_KEY_FILE=<(echo psk_piped) exec "$0" --input-type=module --eval "$1"';
    const { stdout } = await promisify(execFile)('bash', ['-c', shell, process.execPath, program]);
    expect(stdout.trim()).toBe('Bearer psk_piped,Bearer psk_piped');
  });
});
