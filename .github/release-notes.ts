// Prints the changelog's section of the version in package.json. Given a tag, the tag must name that version, and the section must
// have its day. Ends with 1 and says why where they do not agree.
import { readFile } from 'node:fs/promises';

const SECTION = /^## (?<version>\d+\.\d+\.\d+\S*) \((?<day>unreleased|\d{4}-\d{2}-\d{2})\)$/;

/** What a release says of itself, or why it cannot be one. */
export type Notes = { notes: string } | { fault: string };

/** Finds the section of a version in a changelog. */
export function findNotes(changelog: string, version: string, tag: string | undefined): Notes {
  if (tag !== undefined && tag !== `v${version}`) return { fault: `the tag ${tag} does not name the version ${version}` };
  const lines = changelog.split('\n');
  const start = lines.findIndex((line) => SECTION.exec(line)?.groups?.version === version);
  const heading = SECTION.exec(lines[start] ?? '');
  if (!heading) return { fault: `CHANGELOG.md has no section "## ${version} (year-month-day)"` };
  if (tag !== undefined && heading.groups?.day === 'unreleased') return { fault: `CHANGELOG.md says that ${version} is unreleased` };
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith('## '));
  const notes = lines
    .slice(start + 1, length < 0 ? undefined : start + 1 + length)
    .join('\n')
    .trim();
  return notes === '' ? { fault: `CHANGELOG.md says nothing of ${version}` } : { notes };
}

async function main(tag: string | undefined): Promise<void> {
  const root = new URL('../', import.meta.url);
  const manifest: unknown = JSON.parse(await readFile(new URL('package.json', root), 'utf8'));
  const version: unknown = typeof manifest === 'object' && manifest !== null ? Reflect.get(manifest, 'version') : undefined;
  const found = findNotes(await readFile(new URL('CHANGELOG.md', root), 'utf8'), String(version), tag);
  if ('notes' in found) return console.log(found.notes);
  console.error(`Cannot release: ${found.fault}`);
  process.exitCode = 1;
}

if (import.meta.main) await main(process.argv[2]);
