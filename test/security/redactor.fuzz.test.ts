import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Redactor } from '../../src/redactor.ts';
import { FUZZ } from '../support/fuzz.ts';

const hex = (character: string) => character.charCodeAt(0).toString(16).padStart(2, '0');
/** The ways in which a character of a key may be written. */
const SPELLINGS: ((character: string) => string)[] = [
  (character) => character,
  (character) => `%${hex(character)}`,
  (character) => `%${hex(character).toUpperCase()}`,
  (character) => `&#${character.charCodeAt(0)};`,
  (character) => `&#x${hex(character)};`,
  (character) => `\\u00${hex(character)}`,
  (character) => `\\x${hex(character)}`,
];
const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
const plain = visible.filter((character) => !'%&\\'.includes(character));
const text = fc.string({ maxLength: 40, unit: fc.oneof(visible, fc.constantFrom(' ', '\n', '\u00e9', '\ud83d\ude00')) });

test('Redactor hides a key whatever way each of its characters is written', () => {
  const written = fc.array(fc.tuple(plain, fc.constantFrom(...SPELLINGS)), { minLength: 8, maxLength: 60 });
  fc.assert(
    fc.property(written, text, text, (characters, before, after) => {
      const redactor = new Redactor();
      redactor.learn(characters.map(([character]) => character).join(''));
      const spelled = characters.map(([character, spell]) => spell(character)).join('');
      // Digits of an escape may be taken for the key's first characters.
      expect(redactor.hide(` ${spelled} `)).toMatch(/\*{3} $/);
      expect(redactor.clean(`${before} ${spelled} ${after}`)).toContain('***');
    }),
    FUZZ,
  );
});

test('Redactor hides any key in a text, an address, JSON and HTML, and keeps the text around it', () => {
  const key = fc.string({ minLength: 8, maxLength: 200, unit: plain });
  fc.assert(
    fc.property(key, (secret) => {
      const redactor = new Redactor();
      redactor.learn(secret);
      const html = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
      const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), JSON.stringify(JSON.stringify(secret)), html];
      for (const form of forms) expect(redactor.hide(`(${form})`)).toMatch(/^\([\\"]*\*{3}[\\"]*\)$/);
    }),
    FUZZ,
  );
});

test('Redactor does not change a text without the key', () => {
  fc.assert(
    fc.property(text, (without) => {
      const redactor = new Redactor();
      redactor.learn('psk_not_in_any_text_at_all');
      expect(redactor.hide(without)).toBe(without);
    }),
    FUZZ,
  );
});
