import { PetStoreClient } from 'petstore-inventory';
import { expect, test } from 'vitest';
import { thrownBy } from '../support/outcome.ts';

const open = (baseUrl: string) => new PetStoreClient({ apiKey: 'psk_test', baseUrl });

test.each([
  'http://127.0.0.1.evil.test/v1',
  'http://localhost.evil.test/v1',
  'http://notlocalhost/v1',
  'http://localhost.localdomain/v1',
  'http://evil.test/localhost/v1',
  'http://[::ffff:127.0.0.1]/v1',
  'http://[::2]/v1',
  'http://[::]/v1',
  'http://0.0.0.0/v1',
  'http://128.0.0.1/v1',
  'http://10.127.0.1/v1',
  'http://0x7f.evil.test/v1',
  'http://xn--localhost-7ya.test/v1',
  'http://l\u043ecalhost/v1',
  'http://localhost\u3002evil.test/v1',
  'http:evil.test/v1',
])('plain http to %s, which is not loopback, is refused', (baseUrl) => {
  expect(thrownBy(() => open(baseUrl))).toMatchObject({
    name: 'ConfigurationError',
    option: 'baseUrl',
    message: expect.stringContaining('https'),
  });
});

test.each([
  'http://localhost@evil.test/v1',
  'http://127.0.0.1:80@evil.test/v1',
  'https://user:hunter2@pets.test/v1',
  'https://:hunter2@pets.test/v1',
  'https://pets.test/v1?key=hunter2',
  'https://pets.test/v1#hunter2',
  'https://user:hunter2@pets.test/v1?a=/v1',
])('%s is refused without showing the secrets that it may hold', (baseUrl) => {
  const error = thrownBy(() => open(baseUrl));
  expect(error).toMatchObject({ name: 'ConfigurationError', option: 'baseUrl' });
  expect(JSON.stringify(error)).not.toContain('hunter2');
});

test.each([
  'ftp://pets.test/v1',
  'javascript:alert(1)//v1',
  'file:///v1',
  '//pets.test/v1',
  'pets.test/v1',
  '/v1',
  'https:///',
  ' ',
  'https://pets.test/v2',
  'https://pets.test/v1/x',
  'https://pets.test/xv1',
  'https://pets.test//',
])('%j is refused as an address of the service', (baseUrl) => {
  expect(thrownBy(() => open(baseUrl))).toMatchObject({ name: 'ConfigurationError', option: 'baseUrl' });
});

test.each([
  'http://localhost/v1',
  'http://LOCALHOST:8080/v1/',
  'http://api.localhost/v1',
  'http://127.1/v1',
  'http://0x7f000001/v1',
  'http://2130706433/v1',
  'http://127.0.0.1./v1',
  'http://127.255.0.9/v1',
  'http://[::1]:80/v1',
  'http://[0:0:0:0:0:0:0:1]/v1',
  'https://pets.test/a/b/v1',
])('%s may be reached', (baseUrl) => {
  expect(open(baseUrl)).toBeInstanceOf(PetStoreClient);
});
