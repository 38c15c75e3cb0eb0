/**
 * Returns the path below the client's address, with its query, from the argument of `fetch`: `/pets/42`, `pets/42`, or an address below
 * the client's. Undefined for anything else: another origin, credentials, or a path that leaves the address by `..`, in any spelling that
 * a server might decode to it.
 */
export function pathBelow(wanted: string, baseUrl: string): string | undefined {
  const text = asParsed(wanted);
  if (/^[/\\]{2}/.test(text)) return undefined;
  const isAbsolute = /^[a-z][a-z\d+.-]*:/i.test(text);
  const url = URL.parse(isAbsolute ? text : `${baseUrl}/${text.replace(/^[/\\]/, '')}`);
  const base = new URL(`${baseUrl}/`);
  if (!url || url.origin !== base.origin || url.username || url.password || !url.pathname.startsWith(base.pathname)) return undefined;
  const path = url.pathname.slice(base.pathname.length);
  const isClimbing = climbs(path) || (!isAbsolute && climbs(text.replace(/[?#].*/s, '')));
  return isClimbing ? undefined : `${path}${url.search}`;
}

/** Removes what a URL parser removes: tabs and newlines, and surrounding spaces and control characters (URL standard, section 4.4). */
function asParsed(text: string): string {
  return text.replace(/[\t\n\r]/g, '').replace(/^[^!-\uffff]+|[^!-\uffff]+$/g, '');
}

/** Whether a path leaves its base. A server may decode it repeatedly, treat `\` as `/`, and drop the parameters of a segment (`..;a`). */
function climbs(path: string): boolean {
  let depth = 0;
  for (const segment of path.split(/[/\\]/)) {
    for (const [index, part] of decode(segment).split(/[/\\]/).entries()) {
      const name = part.replace(/;.*/s, '');
      if (name === '..') depth--;
      // A server that decodes less often sees one name where another sees several: one counts.
      else if (index === 0 && name !== '' && name !== '.') depth++;
      if (depth < 0) return true;
    }
  }
  return false;
}

/** Decodes every `%hh` until none is left, in one pass: what a decoded character completes is decoded at once. */
function decode(text: string): string {
  const left: string[] = [];
  for (const character of text) {
    left.push(character);
    for (let end = left.slice(-3).join(''); /^%[\da-f]{2}$/i.test(end); end = left.slice(-3).join('')) {
      left.splice(-3, 3, String.fromCharCode(Number.parseInt(end.slice(1), 16)));
    }
  }
  return left.join('');
}
