import { inspect } from 'node:util';
import fc from 'fast-check';
import { PetStoreClient, type PetStoreClientOptions, PLANS } from 'petstore-inventory';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { checkApiKey, resolveOptions } from '../../src/options/client-options.ts';
import { anyText, FUZZ } from '../support/fuzz.ts';
import { thrownBy } from '../support/outcome.ts';

const VARIABLES = [
  'PETSTORE_API_KEY',
  'PETSTORE_API_KEY_FILE',
  'PETSTORE_ENVIRONMENT',
  'PETSTORE_BASE_URL',
  'PETSTORE_STAGING_BASE_URL',
  'PETSTORE_PLAN',
  'PETSTORE_LOG',
];
const apiKey = 'psk_1';
const baseUrl = 'https://pets.test/v1';
const staging = 'https://staging.pets.test/v1';

beforeEach(() => {
  setVariables(undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function setVariables(value: string | undefined): void {
  for (const name of VARIABLES) vi.stubEnv(name, value);
}

/** Options as a caller without types may give them. */
function make(options: object): PetStoreClient {
  return Reflect.construct(PetStoreClient, [options]);
}

function refusal(option: string, value: unknown): unknown {
  return thrownBy(() => make({ apiKey, baseUrl, [option]: value }));
}

describe('resolveOptions', () => {
  test('has the defaults of the contract', () => {
    expect(resolveOptions({ apiKey, baseUrl })).toEqual({
      apiKey,
      baseUrl,
      plan: undefined,
      int64: 'number',
      concurrency: 64,
      share: 1,
      maxResponseBytes: 268_435_456,
      fetch: undefined,
      logger: undefined,
      call: {
        signal: undefined,
        attemptTimeoutMs: 30_000,
        totalTimeoutMs: undefined,
        maxRetries: 5,
        maxWaitMs: 120_000,
        priority: 'normal',
        latestOnly: false,
        headers: {},
      },
    });
  });

  test('reads options that an object inherits, but none that only a call has', () => {
    class Settings {
      apiKey = apiKey;
      baseUrl = baseUrl;
      get maxRetries() {
        return 2;
      }
      get signal() {
        return AbortSignal.abort();
      }
      get priority() {
        return 'low';
      }
    }
    expect(resolveOptions(new Settings()).call).toMatchObject({ maxRetries: 2, signal: undefined, priority: 'normal' });
  });

  test('accepts every option as it is given', () => {
    const fetch = async () => new Response();
    const options: PetStoreClientOptions<'bigint'> = {
      apiKey: async () => apiKey,
      environment: 'staging',
      baseUrl: { staging },
      plan: { requestsPerMinute: 7, requestsPerDay: 70 },
      int64: 'bigint',
      maxRetries: 2,
      attemptTimeoutMs: 3,
      totalTimeoutMs: 4,
      maxWaitMs: 5,
      latestOnly: true,
      concurrency: 6,
      share: 0.5,
      maxResponseBytes: 8,
      fetch,
      headers: { 'X-Team': 'stock' },
      logger: console,
    };
    const call = { attemptTimeoutMs: 3, totalTimeoutMs: 4, maxRetries: 2, maxWaitMs: 5, latestOnly: true, headers: { 'x-team': 'stock' } };
    const { apiKey: key, plan, int64, concurrency, share, maxResponseBytes, logger } = options;
    expect(resolveOptions(options)).toMatchObject({
      ...{ apiKey: key, baseUrl: staging, plan, int64, concurrency, share, maxResponseBytes, fetch, logger, call },
    });
  });

  test('reads every variable of the contract', () => {
    const debug = vi.spyOn(console, 'debug').mockImplementation(() => {});
    vi.stubEnv('PETSTORE_API_KEY', 'psk_variable');
    vi.stubEnv('PETSTORE_ENVIRONMENT', 'staging');
    vi.stubEnv('PETSTORE_BASE_URL', baseUrl);
    vi.stubEnv('PETSTORE_STAGING_BASE_URL', staging);
    vi.stubEnv('PETSTORE_PLAN', 'pro');
    vi.stubEnv('PETSTORE_LOG', 'debug');
    const options = resolveOptions({});
    options.logger?.debug('hello');
    expect(options).toMatchObject({ apiKey: 'psk_variable', baseUrl: staging, plan: PLANS.pro });
    expect(debug).toHaveBeenCalledExactlyOnceWith('hello');
    vi.stubEnv('PETSTORE_ENVIRONMENT', 'production');
    expect(resolveOptions({}).baseUrl).toBe(baseUrl);
  });

  test('prefers an option to its variable', () => {
    const info = vi.spyOn(console, 'info').mockImplementation(() => {});
    vi.stubEnv('PETSTORE_API_KEY', 'psk_variable');
    vi.stubEnv('PETSTORE_ENVIRONMENT', 'staging');
    vi.stubEnv('PETSTORE_BASE_URL', 'https://variable.test/v1');
    vi.stubEnv('PETSTORE_STAGING_BASE_URL', 'https://variable.test/v1');
    vi.stubEnv('PETSTORE_PLAN', 'pro');
    vi.stubEnv('PETSTORE_LOG', 'debug');
    const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
    const options = resolveOptions({ apiKey, environment: 'production', baseUrl, plan: 'free', logger });
    options.logger?.info('hello');
    expect(options).toMatchObject({ apiKey, baseUrl, plan: PLANS.free });
    expect([info.mock.calls.length, logger.info.mock.calls.length]).toEqual([0, 1]);
  });

  test.each(['apiKey', 'environment', 'baseUrl', 'plan'])('refuses null as `%s`, and does not use the variable', (option) => {
    vi.stubEnv('PETSTORE_API_KEY', apiKey);
    vi.stubEnv('PETSTORE_ENVIRONMENT', 'production');
    vi.stubEnv('PETSTORE_BASE_URL', baseUrl);
    vi.stubEnv('PETSTORE_PLAN', 'pro');
    expect(refusal(option, null)).toMatchObject({ name: 'ConfigurationError', option });
  });

  test('treats an empty variable as unset', () => {
    setVariables('');
    expect(resolveOptions({ apiKey, baseUrl })).toMatchObject({ apiKey, baseUrl, plan: undefined, logger: undefined });
    expect(thrownBy(() => resolveOptions({ baseUrl }))).toMatchObject({ option: 'apiKey' });
    expect(thrownBy(() => resolveOptions({ apiKey }))).toMatchObject({ option: 'baseUrl' });
  });

  test.each([
    ['PETSTORE_API_KEY', 'Bearer psk_1', 'apiKey', /^Cannot use this value from PETSTORE_API_KEY as `apiKey`: it must be visible/],
    [
      'PETSTORE_ENVIRONMENT',
      'prod',
      'environment',
      /^Cannot use "prod" from PETSTORE_ENVIRONMENT as `environment`: it must be "production" or/,
    ],
    ['PETSTORE_BASE_URL', 'shop', 'baseUrl', /^Cannot use "shop" from PETSTORE_BASE_URL as `baseUrl`: it must be an absolute/],
    ['PETSTORE_PLAN', 'gold', 'plan', /^Cannot use "gold" from PETSTORE_PLAN as `plan`: it must be "free"/],
    ['PETSTORE_LOG', 'loud', 'PETSTORE_LOG', /^Cannot use "loud" as `PETSTORE_LOG`: it must be "debug", "info", "warn", "error" or "off"$/],
  ])('refuses %s=%s, and names the variable', (name, value, option, message) => {
    vi.stubEnv('PETSTORE_API_KEY', apiKey);
    vi.stubEnv('PETSTORE_BASE_URL', baseUrl);
    vi.stubEnv(name, value);
    expect(thrownBy(() => resolveOptions({}))).toMatchObject({ kind: 'configuration', option, message: expect.stringMatching(message) });
  });

  test.each([
    ['5000', { requestsPerMinute: 5_000 }],
    ['5000/1000000', { requestsPerMinute: 5_000, requestsPerDay: 1_000_000 }],
    ['unlimited', 'unlimited'],
  ])('reads PETSTORE_PLAN=%s', (text, plan) => {
    vi.stubEnv('PETSTORE_PLAN', text);
    expect(resolveOptions({ apiKey, baseUrl }).plan).toEqual(plan);
  });

  test('refuses a single address with staging by variable as with staging by option', () => {
    vi.stubEnv('PETSTORE_ENVIRONMENT', 'staging');
    vi.stubEnv('PETSTORE_STAGING_BASE_URL', staging);
    expect(thrownBy(() => make({ apiKey, baseUrl }))).toMatchObject({ option: 'baseUrl' });
    expect(thrownBy(() => make({ apiKey, baseUrl, environment: 'staging' }))).toMatchObject({ option: 'baseUrl' });
    expect(resolveOptions({ apiKey }).baseUrl).toBe(staging);
    expect(resolveOptions({ apiKey, baseUrl, environment: 'production' }).baseUrl).toBe(baseUrl);
  });

  test.each(['free', 'pro', 'business'] as const)('knows the limits of the plan %s', (plan) => {
    expect(resolveOptions({ apiKey, baseUrl, plan }).plan).toEqual(PLANS[plan]);
  });

  test('accepts the plan unlimited, and limits without a day', () => {
    expect(resolveOptions({ apiKey, baseUrl, plan: 'unlimited' }).plan).toBe('unlimited');
    expect(resolveOptions({ apiKey, baseUrl, plan: { requestsPerMinute: 5_000 } }).plan).toEqual({ requestsPerMinute: 5_000 });
  });
});

describe('PetStoreClient refuses in its constructor', () => {
  test('to be made without a key or without an address', () => {
    expect(thrownBy(() => make({ baseUrl }))).toMatchObject({
      name: 'ConfigurationError',
      option: 'apiKey',
      message: 'Cannot make a client without a key: give `apiKey` or set PETSTORE_API_KEY or PETSTORE_API_KEY_FILE',
    });
    expect(thrownBy(() => make({ apiKey }))).toMatchObject({ option: 'baseUrl', message: expect.stringContaining('PETSTORE_BASE_URL') });
    expect(thrownBy(() => new PetStoreClient())).toMatchObject({ kind: 'configuration' });
  });

  const PLAN_RULE = 'it must be "free", "pro", "business", "unlimited" or { requestsPerMinute, requestsPerDay }';
  const COUNT = 'it must be an integer of at least 1';
  const STORE = 'it must be what redisQuotaStore() of petstore-inventory/redis or fileQuotaStore() of petstore-inventory/node gives';
  const SHARE = 'it must be a finite number above 0 and at most 1';

  test.each([
    ['environment', 'test', 'Cannot use "test" as `environment`: it must be "production" or "staging"'],
    ['environment', 1, 'Cannot use 1 as `environment`: it must be "production" or "staging"'],
    ['plan', 'gold', `Cannot use "gold" as \`plan\`: ${PLAN_RULE}`],
    ['plan', 'toString', `Cannot use "toString" as \`plan\`: ${PLAN_RULE}`],
    ['plan', 60, `Cannot use 60 as \`plan\`: ${PLAN_RULE}`],
    ['plan', [60], `Cannot use an array as \`plan\`: ${PLAN_RULE}`],
    ['plan', {}, `Cannot use undefined as \`plan.requestsPerMinute\`: ${COUNT}`],
    ['plan', { requestsPerMinute: 0 }, `Cannot use 0 as \`plan.requestsPerMinute\`: ${COUNT}`],
    ['plan', { requestsPerMinute: 1.5 }, `Cannot use 1.5 as \`plan.requestsPerMinute\`: ${COUNT}`],
    ['plan', { requestsPerMinute: 1, requestsPerDay: -1 }, `Cannot use -1 as \`plan.requestsPerDay\`: ${COUNT}`],
    ['int64', 'string', 'Cannot use "string" as `int64`: it must be "number" or "bigint"'],
    ['maxRetries', -1, 'Cannot use -1 as `maxRetries`: it must be an integer of at least 0'],
    ['maxRetries', 0.5, 'Cannot use 0.5 as `maxRetries`: it must be an integer of at least 0'],
    ['attemptTimeoutMs', 0, 'Cannot use 0 as `attemptTimeoutMs`: it must be a finite number above 0'],
    ['totalTimeoutMs', Number.NaN, 'Cannot use NaN as `totalTimeoutMs`: it must be a finite number above 0'],
    ['latestOnly', 1, 'Cannot use 1 as `latestOnly`: it must be true or false'],
    ['dangerouslyAllowBrowser', 'y', 'Cannot use "y" as `dangerouslyAllowBrowser`: it must be true or false'],
    ['maxWaitMs', -1, 'Cannot use -1 as `maxWaitMs`: it must be a finite number of at least 0'],
    ['concurrency', 0, `Cannot use 0 as \`concurrency\`: ${COUNT}`],
    ['concurrency', 2.5, `Cannot use 2.5 as \`concurrency\`: ${COUNT}`],
    ['share', 0, `Cannot use 0 as \`share\`: ${SHARE}`],
    ['share', 1.01, `Cannot use 1.01 as \`share\`: ${SHARE}`],
    ['share', null, `Cannot use null as \`share\`: ${SHARE}`],
    ['share', { low: 0 }, `Cannot use 0 as \`share.low\`: ${SHARE}`],
    ['share', {}, `Cannot use this value as \`share\`: ${SHARE}, or { low } with one`],
    ['share', { low: 0.5, high: 1 }, `Cannot use this value as \`share\`: ${SHARE}, or { low } with one`],
    ['maxResponseBytes', 0, `Cannot use 0 as \`maxResponseBytes\`: ${COUNT}`],
    ['fetch', 'node-fetch', 'Cannot use "node-fetch" as `fetch`: it must be a function'],
    ['quotaStore', {}, `Cannot use an object as \`quotaStore\`: ${STORE}`],
    ['quotaStore', 'redis', `Cannot use "redis" as \`quotaStore\`: ${STORE}`],
    ['apiKey', '', 'Cannot use an empty key as `apiKey`: is the variable that it comes from set?'],
    ['logger', {}, 'Cannot use an object as `logger`: it must be an object with the functions debug, info, warn and error'],
    ['logger', 'debug', 'Cannot use "debug" as `logger`: it must be an object with the functions debug, info, warn and error'],
  ])('the option %s: %o', (option, value, message) => {
    expect(refusal(option, value)).toMatchObject({ kind: 'configuration', name: 'ConfigurationError', option, message });
  });

  test.each([0, 0.5])('a `quotaStore` that is shared by %d processes', (processes) => {
    const quotaStore = { processes, isCheap: true, join: () => expect.unreachable() };
    const message = `Cannot use ${processes} as \`quotaStore.processes\`: ${COUNT}`;
    expect(refusal('quotaStore', quotaStore)).toMatchObject({ kind: 'configuration', option: 'quotaStore', message });
  });

  test('an option whose value is the key by mistake, which it does not show if it is long enough to be one', () => {
    const refused = (key: string) => thrownBy(() => Reflect.construct(PetStoreClient, [{ apiKey: key, baseUrl, plan: key }]));
    expect(refused('psk_1234')).toMatchObject({ message: `Cannot use "***" as \`plan\`: ${PLAN_RULE}` });
    expect(refused('psk_123')).toMatchObject({ message: `Cannot use "psk_123" as \`plan\`: ${PLAN_RULE}` });
  });

  test('an Authorization header, in the options of the client and of a call', async () => {
    expect(refusal('headers', { authorization: 'Bearer hunter2' })).toMatchObject({ kind: 'configuration', option: 'headers' });
    const client = make({ apiKey, baseUrl, fetch: () => expect.unreachable() });
    const call = client.listInventory({ headers: { Authorization: 'Bearer hunter2' } });
    await expect(call).rejects.toMatchObject({ kind: 'configuration', option: 'headers', message: expect.not.stringContaining('hunter2') });
  });

  test('options that are not an object', () => {
    expect(thrownBy(() => Reflect.construct(PetStoreClient, ['psk_1']))).toMatchObject({
      option: 'options',
      // The value is not shown, since it may be the key.
      message: 'Cannot use this value as `options`: it must be an object such as { apiKey }',
    });
    expect(thrownBy(() => Reflect.construct(PetStoreClient, [null]))).toMatchObject({ option: 'options' });
  });

  test.each(['', ' ', 'psk 1', 'psk_1\n', '\tpsk_1', 'Bearer psk_1', 'psk_ä', 'psk_😀', 'psk\u0000', 'psk\u007f'])(
    'the key %j, without showing it',
    (key) => {
      const error = refusal('apiKey', key);
      expect(error).toMatchObject({ kind: 'configuration', option: 'apiKey', message: expect.stringContaining('`apiKey`') });
      expect(inspect(error)).not.toMatch(/psk/);
    },
  );

  test.each([12, {}, [], true])('the key %o, which is not a string', (key) => {
    expect(refusal('apiKey', key)).toMatchObject({
      option: 'apiKey',
      message: 'Cannot use this value as `apiKey`: it must be a string or a function that gives one',
    });
  });

  test('to be made in a browser, where the key would be public, unless that is allowed', () => {
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0' });
    expect(thrownBy(() => make({ apiKey, baseUrl }))).toMatchObject({ kind: 'configuration', option: 'dangerouslyAllowBrowser' });
    expect(make({ apiKey, baseUrl, dangerouslyAllowBrowser: true })).toBeInstanceOf(PetStoreClient);
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (linux) AppleWebKit/537.36 (KHTML, like Gecko) jsdom/26.0.0' });
    expect(make({ apiKey, baseUrl })).toBeInstanceOf(PetStoreClient);
  });
});

describe('checkApiKey', () => {
  test('accepts every text of visible ASCII that is no address', () => {
    const keys = fc.stringMatching(/^[!-~]+$/).filter((key) => !/^https?:/.test(key));
    fc.assert(
      fc.property(keys, (key) => {
        expect(checkApiKey(key)).toBe(key);
      }),
      FUZZ,
    );
  });

  test('refuses a text with any other character, and does not show it', () => {
    const other = anyText.filter((text) => /[^!-~]/.test(text));
    fc.assert(
      fc.property(fc.stringMatching(/^[!-~]*$/), other, fc.stringMatching(/^[!-~]*$/), (before, other, after) => {
        const error = thrownBy(() => checkApiKey(`${before}${other}${after}`));
        expect(error).toMatchObject({
          option: 'apiKey',
          message: expect.stringMatching(/^Cannot use this value as `apiKey`: it must be visible/),
        });
      }),
      FUZZ,
    );
  });
});

test.each([
  ['debug', ['debug', 'info', 'warn', 'error']],
  ['info', ['info', 'warn', 'error']],
  ['warn', ['warn', 'error']],
  ['error', ['error']],
] as const)('PETSTORE_LOG=%s lets the levels %o reach the console', (level, heard) => {
  const told: string[] = [];
  vi.spyOn(console, 'debug').mockImplementation(() => told.push('debug'));
  vi.spyOn(console, 'info').mockImplementation(() => told.push('info'));
  vi.spyOn(console, 'warn').mockImplementation(() => told.push('warn'));
  vi.spyOn(console, 'error').mockImplementation(() => told.push('error'));
  vi.stubEnv('PETSTORE_LOG', level);
  const { logger } = resolveOptions({ apiKey, baseUrl });
  logger?.debug('d');
  logger?.info('i');
  logger?.warn('w');
  logger?.error('e');
  expect(told).toEqual(heard);
});

test('PETSTORE_LOG=off is silent', () => {
  vi.stubEnv('PETSTORE_LOG', 'off');
  expect(resolveOptions({ apiKey, baseUrl }).logger).toBeUndefined();
});

test('PetStoreClient refuses a limit that a plan does not have', () => {
  const plan = { requestsPerMinute: 5, perDay: 60 };
  expect(() => new PetStoreClient({ apiKey, baseUrl, plan })).toThrow(
    'Cannot use `plan.perDay` as an option: the options are requestsPerMinute, requestsPerDay',
  );
});

test('PetStoreClient refuses an option that it does not have, and names those that it has', () => {
  const misspelt = { apiKey: 'k', baseUrl: 'https://pets.test/v1', maxRetry: 3 };
  expect(() => new PetStoreClient(misspelt)).toThrow(/^Cannot use `maxRetry` as an option: the options are apiKey, .*maxRetries/);
});
