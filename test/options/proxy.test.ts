import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { fetchUsesProxies, proxyFor, showBadProxy } from '../../src/options/proxy.ts';

const SHOP = 'https://stock.shop.example/v1';

/** The variable that names the proxy of an address. */
function variableFor(variables: Record<string, string>, address = SHOP): string | undefined {
  return proxyFor(address, (name) => variables[name])?.variable;
}

describe('proxyFor', () => {
  test('gives the variable and the address, and shows no credentials', () => {
    const variables: Record<string, string> = { HTTPS_PROXY: 'http://user:secret@proxy.example:3128' };
    expect(proxyFor(SHOP, (name) => variables[name])).toEqual({
      variable: 'HTTPS_PROXY',
      url: 'http://user:secret@proxy.example:3128',
      shown: 'http://***@proxy.example:3128',
    });
  });

  test.each([
    [{}, undefined],
    [{ HTTPS_PROXY: 'http://a', https_proxy: 'http://b' }, 'https_proxy'],
    [{ HTTP_PROXY: 'http://a' }, 'HTTP_PROXY'],
    [{ HTTP_PROXY: 'http://a', HTTPS_PROXY: 'http://b' }, 'HTTPS_PROXY'],
    [{ ALL_PROXY: 'http://a' }, undefined],
  ])('finds in %j the proxy of an https address: %s', (variables, variable) => {
    expect(variableFor(variables)).toBe(variable);
  });

  test('does not use the proxy of https for an http address', () => {
    expect(variableFor({ HTTPS_PROXY: 'http://a' }, 'http://localhost:8080/v1')).toBeUndefined();
  });

  test.each([
    ['*', true],
    ['stock.shop.example', true],
    ['STOCK.SHOP.EXAMPLE', true],
    ['other.example stock.shop.example', true],
    ['other.example,.shop.example', true],
    ['*.shop.example', true],
    ['stock.shop.example:443', true],
    ['stock.shop.example:8443', false],
    ['shop.example', true],
    ['shop.example:443', true],
    ['Stock.Shop.Example.', true],
    ['hop.example', false],
    ['k.shop.example', false],
    ['*.stock.shop.example', false],
    ['*:443', true],
    ['*:80', false],
    ['', false],
  ])('NO_PROXY=%s exempts the host: %s', (noProxy, isExempt) => {
    expect(variableFor({ HTTPS_PROXY: 'http://a', NO_PROXY: noProxy }) === undefined).toBe(isExempt);
  });

  test.each([
    ['::1', true],
    ['[::1]', true],
    ['[::1]:443', true],
    ['[::1]:80', false],
    ['::1:443', false],
  ])('NO_PROXY=%s exempts the address [::1]: %s', (noProxy, isExempt) => {
    const variables = { HTTPS_PROXY: 'http://a', NO_PROXY: noProxy };
    expect(variableFor(variables, 'https://[::1]/v1') === undefined).toBe(isExempt);
  });
});

test.each([
  [{}, false],
  [{ NODE_USE_ENV_PROXY: '1' }, true],
  [{ NODE_USE_ENV_PROXY: '0' }, false],
  [{ NODE_OPTIONS: '--use-env-proxy' }, true],
  [{ NODE_OPTIONS: '--use-env-proxy --no-warnings' }, true],
  [{ NODE_OPTIONS: '--use-env-proxy-never' }, false],
])("fetchUsesProxies() reads from %o whether Node's fetch uses the proxies of the variables", (variables, expected) => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const { NODE_USE_ENV_PROXY, NODE_OPTIONS }: Record<string, string | undefined> = variables;
  vi.stubEnv('NODE_USE_ENV_PROXY', NODE_USE_ENV_PROXY);
  vi.stubEnv('NODE_OPTIONS', NODE_OPTIONS);
  expect(fetchUsesProxies()).toBe(expected);
});

test.each([
  ['may be user and password alone', 'user:secret'],
  ['has a password with a slash, before which the user and a number look like host and port', 'http://user:8080/secret@proxy.test'],
  ['has such a password and no scheme', 'user:8080#secret@proxy.test'],
])('proxyFor shows nothing of a value that %s', (_what, url) => {
  expect(proxyFor(SHOP, (name) => (name === 'HTTPS_PROXY' ? url : undefined))).toMatchObject({ url, shown: '***' });
});

test.each([
  ['socks5://127.0.0.1:1080', 'socks5://127.0.0.1:1080'],
  ['socks5://user:secret@proxy.test:1080', 'socks5://***@proxy.test:1080'],
  ['http://user:secret%@proxy.test/?secret', 'http://***@proxy.test'],
  ['http://user:secret', '***'],
  ['user:secret', '***'],
  ['socks5://secret#1@proxy.test', '***'],
  ['socks5://user@mail.test:80/secret@proxy.test', '***'],
  [':8080', '***'],
])('showBadProxy shows %s as %s, without its credentials', (value, shown) => {
  expect(showBadProxy(value)).toBe(shown);
});
