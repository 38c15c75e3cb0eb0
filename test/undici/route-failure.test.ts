import { expect, test } from 'vitest';
import { routeFailure } from '../../src/undici/route-failure.ts';

test.each([
  [true, 'before the answer', false],
  [false, 'in the body of the answer', true],
])('a refused stream proves %s that nothing was processed, if it comes %s', (isUnsent, _when, hasAnswered) => {
  const refused = Object.assign(new Error('stream error'), { http2ErrorCode: 7 });
  const attempt = { url: new URL('https://pets.test/v1'), proxies: undefined, hasStarted: true, hasAnswered };
  expect(routeFailure(refused, attempt).cause).toMatchObject({ isUnsent });
});
