import { expect, test } from 'vitest';
import { isServiceFailure, isSuccess } from '../../src/contract/http.ts';

test.each([
  [200, true, false],
  [299, true, false],
  [300, false, false],
  [499, false, false],
  [500, false, true],
  [501, false, false],
  [505, false, false],
  [599, false, true],
  [600, false, true],
])('a status of %i is good: %s, a temporary failure of the service: %s', (status, success, failure) => {
  expect([isSuccess(status), isServiceFailure(status)]).toEqual([success, failure]);
});
