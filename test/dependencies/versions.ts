/** What npm is asked for: a caret range's own version is the lowest that it allows, and npm takes the newest of a range. */
export function versionsOf(ranges: Readonly<Record<string, string>>, which: 'lowest' | 'newest'): string[] {
  return Object.entries(ranges).map(([name, range]) => {
    if (!/^\^\d+\.\d+\.\d+$/.test(range)) throw new Error(`Cannot use "${range}" of ${name}: it must be a caret range such as ^2.1.0`);
    return `${name}@${which === 'lowest' ? range.slice(1) : range}`;
  });
}
