/** How many keys are remembered when a function gives them: the newest ones, which answers may still echo. */
const REMEMBERED_KEYS = 16;
/** The most text of the service that is kept, in characters. */
export const KEPT_TEXT = 4096;
const HIDDEN = '***';
// C0, DEL, C1, and the marks that change the direction of the text around them.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

/** Makes foreign text fit to be shown: no control characters, no key in any spelling, no more than the caller wants to read. */
export class Redactor {
  // Longest spelling first, so that none leaves a part of another behind.
  #spellings: readonly string[] = [];
  readonly #keys: string[] = [];

  /** Remembers a key that must never show. */
  learn(key: string): void {
    if (this.#keys.includes(key)) return;
    this.#keys.push(key);
    if (this.#keys.length > REMEMBERED_KEYS) this.#keys.shift();
    this.#spellings = [...new Set(this.#keys.flatMap(spellingsOf))].sort((a, b) => b.length - a.length);
  }

  /** Replaces the key by `***`, also where it was percent-encoded, put into JSON or into HTML. */
  hide(text: string): string {
    return this.#spellings.reduce((left, spelling) => left.replaceAll(spelling, HIDDEN), text);
  }

  /** Hides the key, replaces control characters by a space and cuts the text to `most` characters. */
  clean(text: string, most = KEPT_TEXT): string {
    const visible = this.hide(this.hide(text).replace(CONTROLS, ' ')).trim();
    return visible.length > most ? `${visible.slice(0, most - 1)}…` : visible;
  }
}

function spellingsOf(key: string): string[] {
  const percent = encodeURIComponent(key);
  const everyByte = [...key].map((c) => `%${c.charCodeAt(0).toString(16)}`).join('');
  const html = key.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
  const lower = percent.replace(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase());
  return [key, percent, lower, everyByte, everyByte.toUpperCase(), JSON.stringify(key).slice(1, -1), html, html.replaceAll("'", '&#39;')];
}
