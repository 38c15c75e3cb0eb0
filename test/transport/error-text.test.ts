import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Redactor } from '../../src/redactor.ts';
import { readErrorText } from '../../src/transport/error-text.ts';
import { anyText, FUZZ } from '../support/fuzz.ts';

const KEY = 'psk_hunter2';
const redactor = new Redactor();
redactor.learn(KEY);
const read = (body: unknown) => readErrorText(typeof body === 'string' ? body : JSON.stringify(body), redactor);

describe('readErrorText', () => {
  test('reads code and message of an Error body', () => {
    expect(read({ code: 'pet_missing', message: 'No such pet', status: 404 })).toEqual({ code: 'pet_missing', message: 'No such pet' });
  });

  test('reads each field separately: one that is missing, empty or of another type is left out', () => {
    expect(read({ code: 'x' })).toEqual({ code: 'x' });
    expect(read({ message: 'y', code: 7 })).toEqual({ message: 'y' });
    expect(read({ message: 'y', code: '' })).toEqual({ message: 'y' });
    expect(read({ message: 'y', code: '\u0000\n' })).toEqual({ message: 'y' });
  });

  test.each(['<h1>Bad gateway</h1>', '[]', 'null', '"text"', '{"error":"x"}', '{"code":7}', '{"__proto__":{"code":"x"}}', '{"code":'])(
    'gives %j as the text of a body that is not an Error body',
    (body) => {
      expect(read(body)).toEqual({ bodyText: body });
    },
  );

  test('gives nothing for an empty body', () => {
    expect(read('')).toEqual({});
  });

  test('gives the first KiB of a body that is not an Error body', () => {
    expect(read('x'.repeat(5_000)).bodyText).toHaveLength(1024);
  });

  test('cuts the text of the service to 4 KiB and removes its control characters', () => {
    expect(read({ message: 'x'.repeat(10_000) }).message).toHaveLength(4096);
    expect(read({ code: 'a\r\nb', message: '\u001b[31mred\u202eder' })).toEqual({ code: 'a b', message: '[31mred der' });
  });

  test('never shows the key that the service echoes', () => {
    expect(read({ code: KEY, message: `the key ${KEY} is banned` })).toEqual({ code: '***', message: 'the key *** is banned' });
    expect(read(`the key ${KEY} is banned`)).toEqual({ bodyText: 'the key *** is banned' });
    expect(read(`${'x'.repeat(1020)}${KEY}`).bodyText).not.toContain('psk');
  });

  test('never throws, and gives texts of bounded size without control characters, for any JSON', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), anyText), (body) => {
        const { code = '', message = '', bodyText = '' } = read(body);
        expect(code.length <= 4096 && message.length <= 4096 && bodyText.length <= 1024).toBe(true);
        expect(`${code}${message}${bodyText}`).not.toMatch(/\p{Cc}/u);
      }),
      FUZZ,
    );
  });
});
