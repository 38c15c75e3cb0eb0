/**
 * Gives the path below the client's address, with its query, of what a caller wants to fetch: `/pets/42`, `pets/42`, or an address below
 * it. Undefined for anything else: another origin, credentials, and what climbs out of the address, in any spelling that a server may
 * take for one.
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

/** Without what a URL parser leaves out: tabs and newlines, and spaces and control characters around it (URL standard, section 4.4). */
function asParsed(text: string): string {
  return text.replace(/[\t\n\r]/g, '').replace(/^[^!-\uffff]+|[^!-\uffff]+$/g, '');
}

/** A server may decode a path more than once, take `\` for `/`, and leave out the parameters of a segment (`..;a`). */
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

const MEANT = new Map([
  ['%2e', '.'],
  ['%2f', '/'],
  ['%5c', '\\'],
  ['%3b', ';'],
  ['%25', '%'],
]);

function decode(path: string): string {
  const decoded = path.replace(/%(?:2e|2f|5c|3b|25)/gi, (code) => MEANT.get(code.toLowerCase()) ?? code);
  return decoded === path ? path : decode(decoded);
}
