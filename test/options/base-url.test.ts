import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type BaseUrl, type Environment, resolveBaseUrl } from '../../src/options/base-url.ts';
import { FUZZ } from '../support/fuzz.ts';
import { thrownBy } from '../support/outcome.ts';

const PRODUCTION = 'https://pets.test/v1';
const STAGING = 'https://staging.pets.test/v1';

beforeEach(() => {
  vi.stubEnv('PETSTORE_BASE_URL', undefined);
  vi.stubEnv('PETSTORE_STAGING_BASE_URL', undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
});

/** The address that is found, or the message of the refusal. */
function found(baseUrl: unknown, environment: Environment = 'production'): string {
  try {
    return resolveBaseUrl(baseUrl, environment);
  } catch (error) {
    return error instanceof Error ? error.message : 'not even an error';
  }
}

describe('resolveBaseUrl finds the address', () => {
  test.each([
    ['a string', PRODUCTION],
    ['a URL', new URL(PRODUCTION)],
    ['an object of strings', { production: PRODUCTION, staging: STAGING }],
    ['an object of URLs', { production: new URL(PRODUCTION) }],
    ['a URL of another realm', { href: PRODUCTION }],
    ['an object of such URLs', { production: { href: PRODUCTION } }],
  ])('of production in %s', (_what, baseUrl) => {
    expect(found(baseUrl)).toBe(PRODUCTION);
  });

  test('of staging in an object', () => {
    expect(found({ production: PRODUCTION, staging: STAGING }, 'staging')).toBe(STAGING);
  });

  test('of each environment in its variable', () => {
    vi.stubEnv('PETSTORE_BASE_URL', PRODUCTION);
    vi.stubEnv('PETSTORE_STAGING_BASE_URL', STAGING);
    expect([found(undefined), found(undefined, 'staging')]).toEqual([PRODUCTION, STAGING]);
    expect([found({}), found({}, 'staging')]).toEqual([PRODUCTION, STAGING]);
  });

  test('in the option before the variable', () => {
    vi.stubEnv('PETSTORE_BASE_URL', 'https://variable.test/v1');
    vi.stubEnv('PETSTORE_STAGING_BASE_URL', 'https://staging.variable.test/v1');
    expect([found(PRODUCTION), found({ production: PRODUCTION }), found({ staging: STAGING }, 'staging')]).toEqual([
      PRODUCTION,
      PRODUCTION,
      STAGING,
    ]);
  });
});

describe('resolveBaseUrl never lets staging reach production', () => {
  const single = [PRODUCTION, new URL(PRODUCTION)];
  const maps = [undefined, {}, { production: PRODUCTION }, { production: PRODUCTION, staging: undefined }];

  test('a URL of another realm with the environment staging is refused', () => {
    vi.stubEnv('PETSTORE_STAGING_BASE_URL', STAGING);
    expect(found({ href: PRODUCTION }, 'staging')).toContain('with the environment "staging"');
  });

  test.each(single)(
    "a single address %s with the environment staging is refused, even if the variable names staging's address",
    (baseUrl) => {
      vi.stubEnv('PETSTORE_STAGING_BASE_URL', STAGING);
      expect(thrownBy(() => resolveBaseUrl(baseUrl, 'staging'))).toMatchObject({
        kind: 'configuration',
        option: 'baseUrl',
        message: expect.stringContaining('with the environment "staging"'),
      });
    },
  );

  test.each(maps)('%o has no staging address, and the variable of production is not used', (baseUrl) => {
    vi.stubEnv('PETSTORE_BASE_URL', PRODUCTION);
    expect(found(baseUrl, 'staging')).toBe(
      'Cannot make a client without the staging address: give `baseUrl.staging` or set PETSTORE_STAGING_BASE_URL',
    );
  });

  test('an empty staging address is refused, and not replaced', () => {
    vi.stubEnv('PETSTORE_STAGING_BASE_URL', STAGING);
    expect(found({ production: PRODUCTION, staging: '' }, 'staging')).toBe(
      'Cannot use "" as `baseUrl`: it must be an absolute http(s) address',
    );
  });

  test('staging gives the staging address or refuses, whatever options and variables are combined', () => {
    const address = (name: string) => fc.constantFrom(undefined, '', `https://${name}.test/v1`, new URL(`https://${name}.test/v1`));
    const baseUrl = fc.oneof(
      address('production'),
      fc.record({ production: address('production'), staging: address('staging') }, { requiredKeys: [] }),
    );
    const variable = (name: string) => fc.constantFrom(undefined, '', `https://${name}.test/v1`);
    fc.assert(
      fc.property(baseUrl, variable('production'), variable('staging'), (option: BaseUrl | undefined, ofProduction, ofStaging) => {
        vi.stubEnv('PETSTORE_BASE_URL', ofProduction);
        vi.stubEnv('PETSTORE_STAGING_BASE_URL', ofStaging);
        expect(found(option, 'staging')).toMatch(/^https:\/\/staging\.test\/v1$|^Cannot /);
        expect(found(option, 'production')).toMatch(/^https:\/\/production\.test\/v1$|^Cannot /);
      }),
      FUZZ,
    );
  });

  test('production does not take the staging address either', () => {
    vi.stubEnv('PETSTORE_STAGING_BASE_URL', STAGING);
    expect(found({ staging: STAGING })).toBe(
      'Cannot make a client without the production address: give `baseUrl.production` or set PETSTORE_BASE_URL',
    );
  });
});

describe('resolveBaseUrl checks the address', () => {
  test.each([
    ['https://pets.test/v1/', 'https://pets.test/v1'],
    ['https://pets.test/api/v1', 'https://pets.test/api/v1'],
    ['https://PETS.test:443/v1', 'https://pets.test/v1'],
    ['https://pets.test:8443/v1', 'https://pets.test:8443/v1'],
    ['http://localhost/v1', 'http://localhost/v1'],
    ['http://localhost:3000/v1/', 'http://localhost:3000/v1'],
    ['http://sandbox-1.localhost/v1', 'http://sandbox-1.localhost/v1'],
    ['http://127.0.0.1:80/v1', 'http://127.0.0.1/v1'],
    ['http://127.8.9.10/v1', 'http://127.8.9.10/v1'],
    ['http://127.1/v1', 'http://127.0.0.1/v1'],
    ['http://[::1]:8080/v1', 'http://[::1]:8080/v1'],
  ])('%s becomes %s', (given, address) => {
    expect(found(given)).toBe(address);
  });

  const ABSOLUTE = 'an absolute http(s) address';
  const VERSION = 'an address whose path ends in /v1';
  const HTTPS = 'https, since plain http would show the key to the network';

  test.each([
    ['', ABSOLUTE],
    ['pets.test/v1', ABSOLUTE],
    ['/v1', ABSOLUTE],
    ['//pets.test/v1', ABSOLUTE],
    ['ftp://pets.test/v1', ABSOLUTE],
    ['file:///v1', ABSOLUTE],
    ['https://', ABSOLUTE],
    ['https://pets.test', VERSION],
    ['https://pets.test/', VERSION],
    ['https://pets.test/v2', VERSION],
    ['https://pets.test/V1', VERSION],
    ['https://pets.test/apiv1', VERSION],
    ['https://pets.test/v1/inventory', VERSION],
    ['https://pets.test/v1//', VERSION],
    ['http://pets.test/v1', HTTPS],
    ['http://localhost.pets.test/v1', HTTPS],
    ['http://127.0.0.1.pets.test/v1', HTTPS],
    ['http://notlocalhost/v1', HTTPS],
    ['http://10.0.0.1/v1', HTTPS],
    ['http://[::2]/v1', HTTPS],
    ['http://0.0.0.0/v1', HTTPS],
  ])('%j is refused: it must be %s', (given, rule) => {
    expect(found(given)).toBe(`Cannot use ${JSON.stringify(given)} as \`baseUrl\`: it must be ${rule}`);
  });

  const CREDENTIALS = 'free of credentials';
  const QUERY = 'free of a query and a fragment';

  test.each([
    ['https://user:hunter2@pets.test/v1', 'https://pets.test/v1', CREDENTIALS],
    ['https://hunter2@pets.test/v1', 'https://pets.test/v1', CREDENTIALS],
    ['https://pets.test/v1?key=hunter2', 'https://pets.test/v1', QUERY],
    ['https://pets.test/v1#hunter2', 'https://pets.test/v1', QUERY],
    ['https://pets.test/v1?', 'https://pets.test/v1', QUERY],
    ['https://pets.test/v1#', 'https://pets.test/v1', QUERY],
    ['user:hunter2@pets.test/v1', 'pets.test/v1', ABSOLUTE],
    ['ftp://user:hunter2@pets.test/v1', 'ftp://pets.test/v1', ABSOLUTE],
    ['https://user:hunter2?x@pets.test/v1', 'https://pets.test/v1', ABSOLUTE],
    ['https://user:hunter2#x@pets.test/v1', 'https://pets.test/v1', ABSOLUTE],
    ['https://user:hun@ter2@pets.test/v1', 'https://pets.test/v1', CREDENTIALS],
  ])('%j is shown without its secrets, as %s', (given, shown, rule) => {
    expect(found(given)).toBe(`Cannot use "${shown}" as \`baseUrl\`: it must be ${rule}`);
  });

  test('shows no secret of a single address with staging either', () => {
    expect(found('https://user:hunter2@pets.test/v1?key=hunter2', 'staging')).not.toContain('hunter2');
  });

  test.each([
    [12, '12'],
    [null, 'null'],
    [true, 'true'],
    [[PRODUCTION], 'an array'],
  ])('%o is refused: it is not an address', (given, shown) => {
    expect(found(given)).toBe(`Cannot use ${shown} as \`baseUrl\`: it must be an address or { production, staging }`);
  });

  test.each([12, null])('an object with the value %o, which is not an address, is refused, and not replaced', (production) => {
    vi.stubEnv('PETSTORE_BASE_URL', PRODUCTION);
    expect(found({ production })).toBe(`Cannot use ${production} as \`baseUrl\`: it must be an absolute http(s) address`);
  });

  test('a long address is shown whole', () => {
    const long = `https://${'shop.'.repeat(100)}example`;
    expect(found(long)).toBe(`Cannot use "${long}" as \`baseUrl\`: it must be an address whose path ends in /v1`);
  });

  test('the message about a bad address of a variable names the variable', () => {
    vi.stubEnv('PETSTORE_BASE_URL', 'https://shop.example');
    vi.stubEnv('PETSTORE_STAGING_BASE_URL', 'ftp://shop.example/v1');
    expect(found(undefined)).toBe(
      'Cannot use "https://shop.example" from PETSTORE_BASE_URL as `baseUrl`: it must be an address whose path ends in /v1',
    );
    expect(found(undefined, 'staging')).toBe(
      'Cannot use "ftp://shop.example/v1" from PETSTORE_STAGING_BASE_URL as `baseUrl`: it must be an absolute http(s) address',
    );
  });

  test('an object with a name that is no environment is refused, and not replaced', () => {
    vi.stubEnv('PETSTORE_BASE_URL', PRODUCTION);
    expect(found({ prod: PRODUCTION })).toBe('Cannot use `baseUrl.prod` as an option: the options are production, staging');
  });

  test('every refused text causes a ConfigurationError, which shows none of its secrets', () => {
    const anyPart = fc.array(fc.constantFrom(...'/?#@:%[]\\ &;.~x'), { maxLength: 6 }).map((parts) => parts.join(''));
    const secretive = fc.tuple(fc.constantFrom('https', 'http', 'ftp'), anyPart, anyPart);
    fc.assert(
      fc.property(secretive, ([scheme, noise, rest]) => {
        const message = found(`${scheme}://user:hunter2${noise}hunter2@pets.test/${rest}/v1`);
        expect(message).toMatch(/^Cannot use /);
        expect(message).not.toContain('hunter2');
      }),
      FUZZ,
    );
  });
});
