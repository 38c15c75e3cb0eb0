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
  for (const segment of decode(path).split(/[/\\]/)) {
    const name = segment.replace(/;.*/s, '');
    if (name === '..') depth--;
    else if (name !== '' && name !== '.') depth++;
    if (depth < 0) return true;
  }
  return false;
}

const DECODED = new Map([
  ['2e', '.'],
  ['2f', '/'],
  ['5c', '\\'],
  ['3b', ';'],
]);

/** Decodes the characters that matter, however often their `%` was encoded itself. */
function decode(path: string): string {
  return path.replace(/%(?:25)*(2e|2f|5c|3b)/gi, (all, code: string) => DECODED.get(code.toLowerCase()) ?? all);
}
