import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KEPT_TEXT, Redactor, withoutControls } from '../src/redactor.ts';
import { anyText, FUZZ } from './support/fuzz.ts';

const KEY = 'psk_S3cret+Key/0="<&>\'';

function knowing(...keys: string[]): Redactor {
  const redactor = new Redactor();
  for (const key of keys) redactor.learn(key);
  return redactor;
}

describe('Redactor.hide', () => {
  test.each([
    ['as it is', KEY],
    ['percent-encoded', encodeURIComponent(KEY)],
    ['percent-encoded in lower case', encodeURIComponent(KEY).replace(/%../g, (digits) => digits.toLowerCase())],
    ['with every character percent-encoded', [...KEY].map((c) => `%${c.charCodeAt(0).toString(16)}`).join('')],
    ['within JSON', JSON.stringify(KEY).slice(1, -1)],
    ['within HTML', KEY.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')],
  ])('replaces the key %s', (_how, spelling) => {
    expect(knowing(KEY).hide(`before ${spelling} between ${spelling} after`)).toBe('before *** between *** after');
  });

  test.each([
    ['percent-encoded', [...KEY].map((c) => `%${c.charCodeAt(0).toString(16)}`).join('')],
    ['within JSON', [...KEY].map((c) => `\\x${c.charCodeAt(0).toString(16)}`).join('')],
    ['within HTML', [...KEY].map((c) => `&#${c.charCodeAt(0)};`).join('')],
  ])('replaces the key %s with which a text begins and ends', (_how, spelling) => {
    expect(knowing(KEY).hide(spelling)).toBe('***');
  });

  test.each([
    ['within HTML', '&quot;'],
    ['within JSON', '\\"'],
  ])('replaces a key %s that is itself percent-encoded', (_where, quote) => {
    expect(knowing('psk_%41"live').hide(`before psk_%41${quote}live after`)).toBe('before *** after');
  });

  test('leaves other text unchanged, and all text if it knows no key', () => {
    expect(knowing(KEY).hide('psk_S3cret')).toBe('psk_S3cret');
    expect(new Redactor().hide(KEY)).toBe(KEY);
  });

  test('replaces a key with which another key begins', () => {
    expect(knowing('psk_1', 'psk_12').hide('psk_12 psk_1')).toBe('*** ***');
  });

  test('remembers the sixteen latest keys', () => {
    const keys = Array.from({ length: 17 }, (_none, index) => `psk_${index + 100}`);
    const hidden = knowing(...keys).hide(keys.join(' '));
    expect(hidden).toBe(`psk_100${' ***'.repeat(16)}`);
  });

  test('does not forget a key because another is learnt again and again', () => {
    const redactor = knowing('psk_1', ...Array<string>(40).fill('psk_2'));
    expect(redactor.hide('psk_1 psk_2')).toBe('*** ***');
  });

  test('reads a page of a proxy with a few escapes without holding up other calls', () => {
    const page = '<div class="wrap">Some text of the page</div>'.repeat(1_400);
    const redactor = knowing(KEY);
    const shortestMs = (text: string) =>
      Math.min(
        ...Array.from({ length: 5 }, () => {
          const startedAt = performance.now();
          redactor.hide(text);
          return performance.now() - startedAt;
        }),
      );
    expect(shortestMs(`${page}&amp;%20\\n`) / shortestMs(page)).toBeLessThan(200);
  });

  test('shows no key in any text, whatever is around it', () => {
    const key = fc.stringMatching(/^[!-~]{8,40}$/);
    fc.assert(
      fc.property(key, fc.string(), fc.string(), (secret, before, after) => {
        expect(knowing(secret).clean(`${before}${secret}${encodeURIComponent(secret)}${after}`)).not.toContain(secret);
      }),
      FUZZ,
    );
  });
});

describe('Redactor.clean', () => {
  test('replaces control characters and direction marks by a space', () => {
    expect(new Redactor().clean('a\r\nb\u0000\u001b[0m\u007fc\u0085d\u2028e\u202ef\u2066g\u061ch')).toBe('a b [0m c d e f g h');
  });

  test('hides a key that control characters split, as a line break or UTF-16 does', () => {
    expect(knowing('psk_live_abcdefgh').clean('a psk_live_abc\r\ndefgh b')).toBe('a *** b');
    expect(knowing('psk_live_abcdefgh').clean([...'a psk_live_abcdefgh b'].join('\0'))).toBe('a   ***   b');
  });

  test.each([
    ['zero-width space', '\u200b'],
    ['zero-width joiner', '\u200d'],
    ['soft hyphen', '\u00ad'],
    ['byte order mark', '\ufeff'],
    ['variation selector', '\ufe0f'],
  ])('hides a key that an invisible %s splits, and keeps it elsewhere', (_name, invisible) => {
    const text = `a${invisible}b`;
    expect(knowing('psk_live_abcdefgh').clean(`${text} psk_live_abc${invisible}defgh ${text}`)).toBe(`${text} *** ${text}`);
  });

  test.each([
    ['as it is', '\u200b'],
    ['percent-encoded', '%E2%80%8B'],
    ['within JSON', '\\u200b'],
    ['within HTML', '&#8203;'],
  ])('hides an escaped key that an invisible character %s splits', (_how, invisible) => {
    expect(knowing('psk+live+abcdefgh').clean(`a psk%2Blive&#43;ab${invisible}cdefgh b`)).toBe('a *** b');
  });

  test('keeps the control characters around a key, so that no two words become one', () => {
    expect(knowing('psk+live+abcdefgh').clean('a\npsk+live+abcdefgh\nb\npsk%2Blive%2Babc\ndefgh\nc')).toBe('a *** b *** c');
  });

  test('hides a key that an invisible character splits within an escape', () => {
    expect(knowing('psk+live+abcdefgh').clean('a psk%2\u200bBlive\\u00\u00ad2babcdefgh b')).toBe('a *** b');
  });

  test('cuts the text to the given number of bytes, between two characters', () => {
    expect(new Redactor().clean('x'.repeat(20), 10)).toBe('x'.repeat(10));
    expect(new Redactor().clean('🐈'.repeat(3), 11)).toBe('🐈🐈');
    expect(Buffer.byteLength(new Redactor().clean('ü'.repeat(5_000)))).toBe(KEPT_TEXT);
  });

  test('hides the key before it cuts, so that no part of it is left', () => {
    expect(knowing(KEY).clean(`xxxx${KEY}`, 10)).toBe('xxxx***');
  });

  test('gives at most the given number of bytes, without control characters, for any text', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 50 }), (text, most) => {
        const cleaned = knowing(KEY).clean(text, most);
        expect(Buffer.byteLength(cleaned)).toBeLessThanOrEqual(most);
        expect(cleaned).not.toMatch(/\p{Cc}/u);
      }),
      FUZZ,
    );
  });
});

test('withoutControls shows where control characters and direction marks were, one sign for each run', () => {
  expect(withoutControls('a\u001b\u202eb\u200fc', '�')).toBe('a�b�c');
  expect(withoutControls('é 日本 🐾 -', '�')).toBe('é 日本 🐾 -');
});
