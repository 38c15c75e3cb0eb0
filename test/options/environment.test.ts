import { afterEach, describe, expect, test, vi } from 'vitest';
import { isBrowser, readVariable } from '../../src/options/environment.ts';

const NAME = 'PETSTORE_API_KEY';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

/** Runs with another `process`, which the test runner itself needs again right after. */
function withProcess<T>(other: unknown, work: () => T): T {
  vi.stubGlobal('process', other);
  try {
    return work();
  } finally {
    vi.unstubAllGlobals();
  }
}

describe('readVariable', () => {
  test('reads a variable, and treats an empty one as unset', () => {
    vi.stubEnv(NAME, 'psk_1');
    expect(readVariable(NAME)).toBe('psk_1');
    vi.stubEnv(NAME, '');
    expect(readVariable(NAME)).toBeUndefined();
    vi.stubEnv(NAME, undefined);
    expect(readVariable(NAME)).toBeUndefined();
  });

  test('gives undefined if a runtime has no variables or forbids reading them', () => {
    const forbidding = {
      get env(): never {
        throw new Error('NotCapable: requires env access');
      },
    };
    const read = [undefined, {}, { env: {} }, forbidding].map((other) => withProcess(other, () => readVariable(NAME)));
    expect(read).toEqual([undefined, undefined, undefined, undefined]);
  });
});

describe('isBrowser', () => {
  const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36';

  test.each([
    [CHROME, true],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', true],
    ['Mozilla/5.0 (linux) AppleWebKit/537.36 (KHTML, like Gecko) jsdom/26.0.0', false],
    ['Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko) HappyDOM/20.0.0', false],
    ['Node.js/24', false],
    ['Deno/2.9.6', false],
    ['Bun/1.4.5', false],
    ['Cloudflare-Workers', false],
    [undefined, false],
  ])('takes the user agent %j as a browser: %s', (userAgent, expected) => {
    vi.stubGlobal('navigator', { userAgent });
    expect(isBrowser()).toBe(expected);
  });

  test('is false if there is no navigator', () => {
    vi.stubGlobal('navigator', undefined);
    expect(isBrowser()).toBe(false);
  });
});
