import { expect, test } from 'vitest';
import { statusText, stockText } from '../../src/cli/stock-text.ts';

test.each([
  ['available', 'available'],
  ['\u001b[2Jsold', '�[2Jsold'],
  ['\u202esold', '�sold'],
])('statusText shows %j as %j', (status, shown) => {
  expect(statusText(status)).toBe(shown);
});

test('stockText shows a quantity with its status', () => {
  expect(stockText({ quantity: 7, status: 'sold\r' })).toBe('7 (sold�)');
});
