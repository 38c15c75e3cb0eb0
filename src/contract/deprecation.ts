import { parseHttpDate } from './http-date.ts';

/** What an answer announces about its endpoint. */
export interface Deprecation {
  /** When the endpoint is or was deprecated (RFC 9745); undefined if the service names no date. */
  deprecatedAt?: Date;
  /** When the endpoint is expected to stop (RFC 8594). */
  sunsetAt?: Date;
  /** A page about it: the `deprecation` link of the answer, else its `sunset` link. */
  link?: string;
}

interface Reading {
  /** The current time, by which two-digit years are read. */
  nowMs: number;
  /** The address of the request, against which links are resolved. */
  address: string;
}

/** Reads Deprecation and Sunset; undefined if neither is there or valid. `headerOf` gives an empty text for a header that is missing. */
export function readDeprecation(headerOf: (name: string) => string, { nowMs, address }: Reading): Deprecation | undefined {
  const deprecation = headerOf('deprecation').trim();
  const deprecatedAtMs = parseDeprecation(deprecation, nowMs);
  const sunsetAtMs = parseHttpDate(headerOf('sunset').trim(), nowMs);
  if (deprecatedAtMs === undefined && sunsetAtMs === undefined && deprecation !== 'true') return undefined;
  const link = readLink(headerOf('link'), address);
  return {
    ...(deprecatedAtMs !== undefined && { deprecatedAt: new Date(deprecatedAtMs) }),
    ...(sunsetAtMs !== undefined && { sunsetAt: new Date(sunsetAtMs) }),
    ...(link !== undefined && { link }),
  };
}

/** `@` and seconds (RFC 9651 section 3.3.7), perhaps with parameters; drafts of RFC 9745 had an HTTP-date, or `true` without a date. */
function parseDeprecation(text: string, nowMs: number): number | undefined {
  const seconds = /^@(-?\d{1,12})(?:\s*;.*)?$/.exec(text)?.[1];
  return seconds === undefined ? parseHttpDate(text, nowMs) : Number(seconds) * 1000;
}

/** The most characters of a Link header that are read. */
const LONGEST_LINKS = 4096;
/** `<address>; name=value; name="value"` (RFC 8288 section 3). */
const LINK = /<([^>]*)>((?:;[^\s=;,]+(?:=(?:"[^"]*"|[^\s";,]*))?)*)/g;
const SPACE_OUTSIDE_QUOTES = /("[^"]*")|\s+/g;

function readLink(text: string, address: string): string | undefined {
  const links = text.slice(0, LONGEST_LINKS).replace(SPACE_OUTSIDE_QUOTES, (_space, quoted: string | undefined) => quoted ?? '');
  const addresses = new Map<string, string | undefined>();
  for (const [, target = '', parameters = ''] of links.matchAll(LINK)) {
    for (const relation of relationsOf(parameters)) if (!addresses.has(relation)) addresses.set(relation, webAddress(target, address));
  }
  return addresses.get('deprecation') ?? addresses.get('sunset');
}

/** The relation types of a link; its first `rel` counts (RFC 8288 section 3.3). */
function relationsOf(parameters: string): string[] {
  for (const [, name = '', quoted, token] of parameters.matchAll(/;([^=;"]+)(?:=(?:"([^"]*)"|([^;"]*)))?/g)) {
    if (name.toLowerCase() === 'rel') return (quoted ?? token ?? '').toLowerCase().split(/\s+/);
  }
  return [];
}

/** An address for a browser, without credentials. */
function webAddress(target: string, address: string): string | undefined {
  const url = URL.parse(target, address);
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  url.username = '';
  url.password = '';
  return url.href;
}
