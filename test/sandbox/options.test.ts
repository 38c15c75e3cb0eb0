import { serveSandbox } from 'petstore-inventory/node';
import { createSandbox, SandboxError, type SandboxOptions } from 'petstore-inventory/sandbox';
import { describe, expect, test } from 'vitest';

const POLICIES = '"fixed-clock", "fixed-first", "sliding-log", "token-bucket", "sliding-counter"';

/** Options as a caller without types may write them. */
function untyped(text: string): SandboxOptions {
  return JSON.parse(text);
}

test('createSandbox takes a fault with the least and the greatest status, rate and number', () => {
  const faults = [
    { status: 200, rate: 0, times: 1 },
    { status: 599, rate: 1, at: 1 },
    { fail: 'cut', at: [1] },
  ] as const;
  expect(() => createSandbox({ faults: faults.map((fault) => ({ ...fault })) })).not.toThrow();
});

test('A SandboxError in JSON says what is wrong', () => {
  expect(JSON.parse(JSON.stringify(new SandboxError('no')))).toEqual({ name: 'SandboxError', message: 'no' });
});

describe('createSandbox refuses', () => {
  test.each([
    ['{"windw":5}', 'Cannot use `windw` as an option: the options are pets, keys, plans'],
    ['{"toString":5}', 'Cannot use `toString` as an option'],
    ['{"policy":"leaky"}', `Cannot use "leaky" as \`policy\`: it must be one of ${POLICIES} or { minute, day }`],
    ['{"plans":5}', 'Cannot use 5 as `plans`: it must be an object of plans { requestsPerMinute, requestsPerDay? }'],
    [
      '{"plans":{"gold":{"requestsPerMinute":0}}}',
      'Cannot use that object as `plans.gold`: it must be { requestsPerMinute, requestsPerDay? }',
    ],
    ['{"plans":{"gold":{"perMinute":5}}}', 'Cannot use that object as `plans.gold`'],
    ['{"plans":{"gold":5}}', 'Cannot use 5 as `plans.gold`'],
    ['{"faults":{"status":503}}', 'Cannot use that object as `faults`: it must be a list of faults'],
    ['{"faults":[{"at":3}]}', 'Cannot use that object as `faults[0]`: it must have at least one of status, headers, delayMs, fail'],
    ['{"faults":[{"fail":"cut"},{"fail":"explode"}]}', 'Cannot use "explode" as `faults[1].fail`: it must be one of "reset", "lost", '],
    ['{"faults":[{"status":99}]}', 'Cannot use 99 as `faults[0].status`: it must be a whole number from 200 to 599'],
    ['{"faults":[{"status":199}]}', 'Cannot use 199 as `faults[0].status`'],
    ['{"faults":[{"status":600}]}', 'Cannot use 600 as `faults[0].status`'],
    ['{"faults":[{"rate":1.01,"status":503}]}', 'Cannot use 1.01 as `faults[0].rate`: it must be a number from 0 to 1'],
    ['{"faults":[{"rate":-0.01,"status":503}]}', 'Cannot use -0.01 as `faults[0].rate`'],
    ['{"faults":[{"at":0,"status":503}]}', 'Cannot use 0 as `faults[0].at`: it must be the number of a request, from 1, or a list of them'],
    ['{"faults":[{"at":[1,0],"status":503}]}', 'Cannot use that list as `faults[0].at`'],
    ['{"faults":[{"times":0,"status":503}]}', 'Cannot use 0 as `faults[0].times`: it must be a whole number, 1 or more'],
    ['{"faults":[{"stats":503}]}', 'Cannot use `faults[0].stats` as an option: the options are at, rate, when'],
    ['{"faults":[{"headers":{"x y":"1"}}]}', 'Cannot use that object as `faults[0].headers`: it must be an object of valid header names'],
    ['{"faults":[{"headers":{"x y":null}}]}', 'Cannot use that object as `faults[0].headers`'],
    ['{"faults":[{"headers":{"x":"a\\nb"}}]}', 'Cannot use that object as `faults[0].headers`'],
    ['{"faults":[{"headers":{"__proto__":"a\\nb"}}]}', 'Cannot use that object as `faults[0].headers`'],
    ['{"faults":[{"delayMs":1,"body":"oops"}]}', 'Cannot use `faults[0].body`: it needs a `status`'],
    ['{"faults":[503]}', 'Cannot use 503 as `faults[0]`: it must be a plain object such as { status: 503 }'],
    ['{"pets":-1}', 'Cannot use -1 as `pets`: it must be a number of pets, at most 1e7, or a list'],
    ['{"pets":10000001}', 'Cannot use 10000001 as `pets`: it must be a number of pets, at most 1e7, or a list'],
    ['{"pets":"1"}', 'Cannot use "1" as `pets`: it must be a number of pets, at most 1e7, or a list'],
    [
      '{"pets":[{"petId":1,"quantity":2},null]}',
      'Cannot use null as `pets[1]`: it must be { petId, quantity, status? } with safe integers',
    ],
    ['{"latency":{"fromMs":5,"toMs":1}}', 'Cannot use that object as `latency`'],
    ['{"burst":0}', 'Cannot use 0 as `burst`: it must be a whole number, 1 or more'],
    ['{"burst":2}', 'Cannot use `burst` with the policy "fixed-clock": only the minute\'s "token-bucket" has one'],
    ['{"burst":2,"policy":{"minute":"sliding-log","day":"token-bucket"}}', 'Cannot use `burst` with the policy "sliding-log"'],
    [
      '{"limitHeaders":{"limit":"burst"}}',
      'Cannot use `limitHeaders.limit: "burst"` with the policy "fixed-clock": only the minute\'s "token-bucket" has one',
    ],
    ['{"plans":{"__proto__":{"requestsPerMinute":-5}}}', 'Cannot use that object as `plans.__proto__`'],
    ['{"keys":{"__proto__":5}}', 'Cannot use that value as `keys`: it must be an object of keys'],
    ['{"counting":{"at":"noon"}}', 'Cannot use that object as `counting`: it must be { at?: "arrival" or "completion", refused?'],
    ['{"counting":{"uncounted":[42]}}', 'Cannot use that object as `counting`'],
    ['{"limitHeaders":"hour"}', 'Cannot use "hour" as `limitHeaders`: it must be one of "minute", "day", "tightest", "alternate" or { wi'],
    ['{"limitHeaders":{"omit":["date"]}}', 'Cannot use that object as `limitHeaders`'],
    ['{"limitHeaders":{"rate":2}}', 'Cannot use that object as `limitHeaders`'],
    ['{"date":true}', 'Cannot use true as `date`: it must be { aheadMs } with at most 1e13 milliseconds, or false'],
    ['{"date":{"aheadMs":1e300}}', 'Cannot use that object as `date`: it must be { aheadMs } with at most 1e13 milliseconds'],
    ['{"nodes":[-1e300]}', 'Cannot use that list as `nodes`: it must be a list of milliseconds, at most 1e13, one for each node'],
    ['{"nodes":[]}', 'Cannot use that list as `nodes`: it must be a list of milliseconds, at most 1e13, one for each node'],
    ['{"retryAfter":"soon"}', 'Cannot use "soon" as `retryAfter`: it must be one of "seconds", "date", "decimal", "short", "missing"'],
    ['{"ban":true}', 'Cannot use true as `ban`: it must be { after, forMs } with at most 1e13 milliseconds, or false'],
    ['{"ban":{"after":1,"forMs":1e300}}', 'Cannot use that object as `ban`'],
    ['{"window":1e14}', 'Cannot use 100000000000000 as `window`: it must be a whole number of milliseconds, from 1 to 1e13'],
    ['{"domains":["a b"]}', 'Cannot serve the domain "a b": it must be a host name such as "stock.example.com"'],
    ['{"domains":[{"from":"a.example","to":"b.example","status":200}]}', 'Cannot redirect "a.example" with 200'],
    ['{"domains":[{"from":"a.example","to":"://"}]}', 'Cannot redirect to "://": it must be a host name such as "stock.example.com", or'],
    ['{"domains":[{"from":"a.example","to":"ftp://b.example"}]}', 'Cannot redirect to "ftp://b.example": it must be a host name'],
    ['{"domains":[{"from":"a.example","to":"https://b.example/?c"}]}', 'Cannot redirect to "https://b.example/?c": it must be a host name'],
  ])('%s', (options, message) => {
    expect(() => createSandbox(untyped(options))).toThrow(SandboxError);
    expect(() => createSandbox(untyped(options))).toThrow(message);
  });

  test.each([
    [{ keys: { pro: 'sk_live_42' } }, 'Cannot add a key: plan and key are swapped; `keys` maps each key to its plan, and `addKey`'],
    [{ keys: { mine: 'sk_live_42' } }, 'Cannot add a key for that plan: the plans are "free", "pro", "business", and `keys`'],
    [{ keys: { 'sk_live_42 ': 'pro' } }, 'Cannot add that key of `keys` or `addKey`: it must be visible ASCII without spaces'],
    [{ keys: { psk_sk_live_42: 'gold' } }, 'Cannot add a key for that plan: '],
    [{ keys: 'sk_live_42' }, 'Cannot use that value as `keys`: it must be an object of keys, each with the name of its plan'],
  ])('%j, and does not show the key', (options: object, message) => {
    expect(() => createSandbox(options)).toThrow(SandboxError);
    expect(() => createSandbox(options)).toThrow(message);
    expect(() => createSandbox(options)).not.toThrow('sk_live_42');
  });

  test('a key that `addKey` gets as the plan, and does not show it', () => {
    const { addKey } = createSandbox();
    expect(() => Reflect.apply(addKey, undefined, ['sk_live_42'])).toThrow(/^Cannot add a key for that plan: the plans are "free"/);
  });

  test('a long value is cut in the message, a function is not printed', () => {
    expect(() => createSandbox(untyped(`{"policy":"${'x'.repeat(100)}"}`))).toThrow(`Cannot use "${'x'.repeat(60)}..." as`);
    expect(() => createSandbox({ ...untyped('{}'), window: Number.NaN })).toThrow('Cannot use NaN as `window`');
    expect(() => createSandbox(Object.assign(untyped('{}'), { seed: () => 1 }))).toThrow('Cannot use that function as `seed`');
  });
});

describe('createSandbox and serveSandbox refuse options that are', () => {
  test.each([
    [5, '5'],
    [true, 'true'],
    [null, 'null'],
    ['pets', '"pets"'],
    [[], 'that list'],
    [() => 1, 'that function'],
    [new Map([['pets', 3]]), 'that object'],
  ])('%o', async (options, shown) => {
    const message = `Cannot use ${shown} as the options of a sandbox: it must be a plain object such as { pets: 3 }`;
    expect(() => Reflect.apply(createSandbox, undefined, [options])).toThrow(new SandboxError(message));
    await expect(Reflect.apply(serveSandbox, undefined, [options])).rejects.toThrow(message);
  });
});

describe('the stock refuses', () => {
  const { inventory, addKey, keys } = createSandbox();

  test.each([
    [2 ** 53, 1, 'Cannot stock pet 9007199254740992: its id must be an int64 (a bigint beyond ±(2^53−1))'],
    [1.5, 1, 'Cannot stock pet 1.5: its id must be an int64 (a bigint beyond ±(2^53−1))'],
    [2n ** 63n, 1, 'Cannot stock pet 9223372036854775808: its id must be an int64 (a bigint beyond ±(2^53−1))'],
    [JSON.parse('"42"'), 1, 'Cannot stock pet "42": its id must be an int64 (a bigint beyond ±(2^53−1))'],
    [1, 0.5, 'Cannot stock pet 1: its quantity must be an integer within ±(2^53−1), not 0.5'],
  ])('pet %s with quantity %s', (petId, quantity, message) => {
    expect(() => inventory.set(petId, { quantity })).toThrow(new SandboxError(message));
  });

  test('a key twice', () => {
    expect(() => addKey('pro', keys.free)).toThrow(new SandboxError('Cannot add that key: the sandbox has it already'));
  });
});

test('createSandbox treats an undefined option as left out, and takes pets from a generator', () => {
  function* pets() {
    yield { petId: 4, quantity: 1 };
  }
  const { inventory } = createSandbox({ ...untyped('{}'), pets: pets() });
  expect([...inventory].map(({ petId }) => petId)).toEqual([4n]);
});

test.each([
  ['a Map', new Map([[1, 5]]), 'that list'],
  ['a Set', new Set([{ petId: '7', quantity: 5 }]), 'that object'],
  ['an unknown field', new Set([{ petId: 7, quantity: 5, foo: 1 }]), 'that object'],
  ['a status that is no text', [{ petId: 7, quantity: 5, status: 5 }].values(), 'that object'],
])('createSandbox checks each pet of %s', (_name, pets, shown) => {
  const options: object = { pets };
  expect(() => createSandbox(options)).toThrow(
    `Cannot use ${shown} as \`pets[0]\`: it must be { petId, quantity, status? } with safe integers (or a bigint as petId)`,
  );
});
