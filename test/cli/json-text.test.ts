import { expect, test } from 'vitest';
import { jsonText } from '../../src/cli/json-text.ts';

test.each([
  [2n ** 60n + 1n, '1152921504606846977'],
  [[1n, [2n], 'a"b'], '[1,[2],"a\\"b"]'],
  [{ petId: 1n, gone: undefined, none: null }, '{"petId":1,"none":null}'],
  [{ at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
  // JSON.stringify escapes the first of these alone, and a terminal obeys the others, too.
  [{ status: '\u001b[2J\u007f\u009b2J\u202e\u2028é' }, '{"status":"\\u001b[2J\\u007f\\u009b2J\\u202e\\u2028é"}'],
])('jsonText writes %o', (value, text) => {
  expect(jsonText(value)).toBe(text);
});
