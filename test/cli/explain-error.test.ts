import {
  AuthenticationError,
  ConfigurationError,
  ConnectionError,
  InvalidResponseError,
  NotFoundError,
  PetStoreClient,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedStatusError,
} from 'petstore-inventory';
import { expect, test, vi } from 'vitest';
import { errorDetails, explainError } from '../../src/cli/explain-error.ts';
import { thrownBy } from '../support/outcome.ts';

const GOOD = { apiKey: 'psk_1', baseUrl: 'https://shop.example/v1' };

/** The error with which a client refuses the value of an option. */
function refusal(bad: object): unknown {
  return thrownBy(() => Reflect.construct(PetStoreClient, [{ ...GOOD, ...bad }]));
}

/** The error with which a client refuses the value of a variable. */
function ofVariable(name: string, value: string): unknown {
  vi.stubEnv('PETSTORE_API_KEY', GOOD.apiKey);
  vi.stubEnv('PETSTORE_BASE_URL', GOOD.baseUrl);
  vi.stubEnv(name, value);
  const error = thrownBy(() => new PetStoreClient());
  vi.unstubAllEnvs();
  return error;
}

test.each<[unknown, unknown]>([
  [
    new AuthenticationError('no'),
    'no; check the key in PETSTORE_API_KEY or PETSTORE_API_KEY_FILE: it is not one of this environment, or is banned for a while',
  ],
  [new AuthenticationError('401 key_banned: Wait'), '401 key_banned: Wait; try again when the ban is over'],
  [new AuthenticationError('no', { retryAt: new Date(0) }), 'no; try again then'],
  [new RateLimitError('no'), 'no; try again then'],
  [new ConnectionError('no'), 'no; check the network and PETSTORE_BASE_URL, or run `petstore doctor`'],
  [new ServerError('no', { outcome: 'unknown' }), 'no; it may have been applied; try again later'],
  [new TimeoutError('no'), 'no; try again later, or check PETSTORE_BASE_URL'],
  [new ServerError('no'), 'no; try again later'],
  [new ServerError('no', { status: 511 }), 'no; log in to the network with a browser'],
  [new InvalidResponseError('no', { reason: 'invalid-json' }), 'no; check that PETSTORE_BASE_URL is the address of the service'],
  [new UnexpectedStatusError('no'), 'no; check that PETSTORE_BASE_URL is the address of the service'],
  [new UnexpectedStatusError('no', { code: 'http_403' }), 'no; check that PETSTORE_BASE_URL is the address of the service'],
  [
    new UnexpectedStatusError('no', { code: 'forbidden', status: 403 }),
    'no; ask whoever runs the service: its specification names no 403 for this request',
  ],
  [new UnexpectedStatusError('no', { code: 'moved', status: 308 }), 'no; check that PETSTORE_BASE_URL is the address of the service'],
  [new UnexpectedStatusError('no', { code: 'http_403', retryAt: new Date(0) }), 'no; try again then'],
  [new NotFoundError('no', { code: 'pet_missing' }), 'no; `petstore list` shows which pets exist'],
  [new NotFoundError('no', { code: 'http_404' }), 'no; check that PETSTORE_BASE_URL is the address of the service'],
  [new NotFoundError('no', { code: 'http_404', operation: 'listInventory' }), 'no; PETSTORE_BASE_URL sets the address'],
  [
    refusal({ apiKey: undefined }),
    expect.stringMatching(/^Cannot make a client without a key: .*; or try --sandbox, which needs no key and no address$/),
  ],
  [
    refusal({ baseUrl: undefined }),
    expect.stringMatching(/ the production address: .*; or try --sandbox, which needs no key and no address$/),
  ],
  [refusal({ baseUrl: undefined, environment: 'staging' }), expect.stringMatching(/ the staging address: .* PETSTORE_STAGING_BASE_URL$/)],
  [new ConfigurationError('no', { option: 'plan' }), 'no'],
  [ofVariable('PETSTORE_PLAN', 'gold'), expect.stringMatching(/^Cannot use "gold" as PETSTORE_PLAN: it must be "free", /)],
  [ofVariable('PETSTORE_ENVIRONMENT', 'test'), 'Cannot use "test" as PETSTORE_ENVIRONMENT: it must be "production" or "staging"'],
  [ofVariable('PETSTORE_BASE_URL', 'shop'), expect.stringMatching(/^Cannot use "shop" as PETSTORE_BASE_URL: it must be an absolute /)],
  [ofVariable('PETSTORE_API_KEY', 'a b'), expect.stringMatching(/^Cannot use this value as PETSTORE_API_KEY: .* or an address$/)],
  [refusal({ baseUrl: 'shop' }), expect.stringMatching(/^Cannot use "shop" as --base-url: it must be an absolute /)],
  [new Error('one\n  two'), 'one two'],
  [new ServerError('for longer than `maxWaitMs` of 3 s'), 'for longer than --max-wait of 3 s; try again later'],
  [new TimeoutError('within its `attemptTimeoutMs` of 1 s'), 'within its --timeout of 1 s; try again later, or check PETSTORE_BASE_URL'],
  ['thrown', 'thrown'],
])('explainError advises on %o', (error, line) => {
  expect(explainError(error)).toEqual(line);
});

test('errorDetails gives fields, stack and cause, and nothing for a value that is not an error', () => {
  const details = errorDetails(new ConnectionError('no', { code: 'ECONNRESET', cause: new Error('the cause') }));
  expect(details).toMatch(/^\{.*"code":"ECONNRESET".*\}\nConnectionError: no\n {4}at .*\ncaused by Error: the cause\n {4}at /s);
  expect(errorDetails('thrown')).toBe('');
});
