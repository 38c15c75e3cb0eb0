/** How many keys are remembered if a function gives them: the latest ones, which answers may still echo. */
const REMEMBERED_KEYS = 16;
const NO_KEYS: readonly string[] = [];
/** A shorter text is no secret, and would hide parts of words. */
export const SHORTEST_KEY = 8;
/** How much text of the service is kept at most, in bytes of UTF-8. */
export const KEPT_TEXT = 4096;
const HIDDEN = '***';
// C0, DEL, C1, the marks that change the direction of the text around them, and the separators of lines and paragraphs.
export const CONTROLS = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu;
// Also what shows nothing, such as a zero-width space. It stays in a text: emoji and some scripts need it.
const UNSEEN = /[\p{Cc}\p{DI}\u2028\u2029]+/gu;

/** A text that can move no cursor, forge no line and turn no text around: each run of such characters is replaced. */
export function withoutControls(text: string, replacement = ' '): string {
  return text.replace(CONTROLS, replacement);
}

/** Cleans foreign text so that it can be shown: without control characters, without a key as `hide` finds it, and cut to a length. */
export class Redactor {
  // In lower case, since a URL writes the host of an address so.
  #keys: readonly string[] = NO_KEYS;

  /** Remembers a key that must never be shown. */
  learn(key: string): void {
    const folded = foldCase(key);
    if (this.#keys.includes(folded)) return;
    this.#keys = [...this.#keys, folded].slice(-REMEMBERED_KEYS);
  }

  /**
   * Replaces the key by `***`, even if control characters or invisible ones split it, and if characters of it are percent-encoded or escaped
   * as in JSON or HTML, once or twice.
   */
  hide(text: string): string {
    const left = this.#cutKeys(text, readVisible(text));
    return BEGINS_ESCAPE.test(left) ? ESCAPES.reduce((hidden, outer) => this.#hideEscaped(hidden, outer), left) : left;
  }

  /** Hides the keys with escapes of one kind, also around others: a page may quote an address, and JSON may quote a page. */
  #hideEscaped(text: string, outer: RegExp): string {
    const written = readVisible(text);
    const reading = unescaped(written, outer);
    if (reading === written) return text;
    let left = this.#cutKeys(text, reading);
    // Read again only if a key was cut, since a text may have an escape for each of its characters.
    for (const inner of ESCAPES)
      left = this.#cutKeys(left, unescaped(left === text ? reading : unescaped(readVisible(left), outer), inner));
    return left;
  }

  /** Hides the key, replaces control characters by a space and cuts the text to `most` bytes of UTF-8. */
  clean(text: string, most = KEPT_TEXT): string {
    const visible = withoutControls(this.hide(text)).trim();
    // A character of which only some bytes fit is left out.
    return visible.slice(0, new TextEncoder().encodeInto(visible, new Uint8Array(most)).read);
  }

  #cutKeys(text: string, { plain, placeOf }: Reading): string {
    const kept: string[] = [];
    let end = 0;
    for (const [first, next] of this.#findKeys(plain)) {
      const [[from], [, to]] = [placeOf(first), placeOf(next - 1)];
      if (from >= end) kept.push(text.slice(end, from), HIDDEN);
      end = Math.max(end, to);
    }
    return end === 0 ? text : [...kept, text.slice(end)].join('');
  }

  /** The beginning and end of each key in a text, in order. */
  #findKeys(plain: string): [from: number, to: number][] {
    const found: [number, number][] = [];
    for (const key of this.#keys) {
      for (let at = plain.indexOf(key); at >= 0; at = plain.indexOf(key, at + key.length)) found.push([at, at + key.length]);
    }
    return found.sort(([one], [other]) => one - other);
  }
}

/** The part of a redactor that code which shows foreign text needs. */
export type TextCleaner = Pick<Redactor, 'clean'>;

/** The same for code that also shows text that is not cut. */
export type TextHider = Pick<Redactor, 'clean' | 'hide'>;

/** A text as it is read, and where each of its characters begins and ends in the original. */
interface Reading {
  plain: string;
  placeOf(index: number): readonly [from: number, to: number];
}

/** A text without its invisible characters. */
function readVisible(text: string): Reading {
  return unescaped({ plain: foldCase(text), placeOf: (index) => [index, index + 1] }, UNSEEN);
}

const BEGINS_ESCAPE = /[%\\&]/;
/** `%2B` of addresses. */
const PERCENT_ESCAPE = /%([\da-f]{2})/g;
/** `&#43;`, `&#x2b;` and `&amp;` of HTML. */
const HTML_ESCAPE = /&#x([\da-f]+);?|&(amp|lt|gt|quot|apos);|&#(\d+);?/g;
/** `\u002b`, `\x2b` and `\/` of JSON and JavaScript. */
const TEXT_ESCAPE = /\\[ux]((?<=u)[\da-f]{4}|(?<=x)[\da-f]{2})|\\([!-~])/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Both at once, since each character may be written in another way. */
const WEB_ESCAPE = new RegExp(`${HTML_ESCAPE.source}|${PERCENT_ESCAPE.source}`, 'g');

/** Those of pages and addresses are also read one at a time, since a key may itself look like the other. */
const ESCAPES = [WEB_ESCAPE, TEXT_ESCAPE, PERCENT_ESCAPE, HTML_ESCAPE];

function unescaped(reading: Reading, pattern: RegExp): Reading {
  const { plain, placeOf } = reading;
  if (plain.search(pattern) < 0) return reading;
  const pieces: { text: string; from: number; to: number }[] = [];
  let end = 0;
  const add = (text: string, to: number) => {
    pieces.push({ text, from: end, to });
    end = to;
  };
  for (const found of plain.matchAll(pattern)) {
    add(plain.slice(end, found.index), found.index);
    add(foldCase(read(found)), found.index + found[0].length);
  }
  add(plain.slice(end), plain.length);
  // Found only for a text with a key, which is rare.
  let places: (readonly [number, number])[] | undefined;
  return {
    plain: pieces.map(({ text }) => text).join(''),
    placeOf: (index) => {
      places ??= pieces.flatMap(({ text, from, to }) =>
        Array.from({ length: text.length }, (_, at) => [placeOf(from + at)[0], placeOf(to - text.length + at)[1]] as const),
      );
      return places[index] ?? [0, 0];
    },
  };
}

/** The character that an escape stands for. Nothing for an invisible character, and for an escape of a character that no key has. */
function read([, hex, itself, decimal, byte = hex]: RegExpExecArray): string {
  if (itself !== undefined) return ENTITIES[itself] ?? itself;
  const code = Number(decimal ?? `0x${byte}`);
  return code >= 0x20 && code <= 0x7e ? String.fromCharCode(code) : '';
}

/** Lower case for ASCII only, which all keys consist of, so that no character changes its length. */
function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
