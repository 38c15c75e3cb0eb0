import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './installed-package.ts';

/** Its samples are whole tests, which test/sandbox runs. */
const TESTED_ELSEWHERE = 'docs/sandbox.md';

/** Where code is shown that has to run. */
export const DOCUMENTS = ['README.md', 'AGENTS.md', ...globSync('docs/*.md', { cwd: ROOT }).toSorted()].filter(
  (path) => path !== TESTED_ELSEWHERE,
);

/** A block of code in a document. */
export interface Sample {
  /** Such as `README.md:7`. */
  place: string;
  code: string;
  /** What it says that it prints, line by line: `console.log(x); // → 12`, in a shell `# → 12`. */
  prints: string[];
}

const FROM_VARIABLES = "import { PetStoreClient } from 'petstore-inventory';\nconst petstore = new PetStoreClient();\n";

/** The blocks of a document in one language, in their order; those without a client are given one, unless another text is given. */
export function samplesOf(document: string, language = 'ts', before?: string): Sample[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const fences = Array.from(text.matchAll(new RegExp(`^\`\`\`${language}\\n(?<code>.*?)^\`\`\`$`, 'gms')));
  const given = before ?? (document === 'README.md' ? (fences[0]?.groups?.code ?? '') : FROM_VARIABLES);
  return fences.map(({ index, groups }) => {
    const line = text.slice(0, index).split('\n').length;
    const shown = groups?.code ?? '';
    const code = language === 'ts' ? withClient(shown, given) : shown;
    return { place: `${document}:${line}`, code, prints: outputsOf(shown).length === 0 ? [] : outputsOf(code) };
  });
}

/** A file that a document shows, in a folder that stands for a project. */
export interface ShownFile {
  folder: string;
  name: string;
  text: string;
}

/** The blocks of a document that are files: their fences name folder and file after the language. */
export function filesOf(document: string): ShownFile[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const fences = text.matchAll(/^```\w+ (?<folder>[\w-]+)\/(?<name>[\w.-]+)\n(?<text>.*?)^```$/gms);
  return Array.from(fences, ({ groups }) => ({ folder: groups?.folder ?? '', name: groups?.name ?? '', text: groups?.text ?? '' }));
}

/** What code says that it prints. */
export function outputsOf(code: string): string[] {
  return Array.from(code.matchAll(/(?:\/\/|#) → (.*)$/gm), ([, printed = '']) => printed);
}

/** What a document says that it was given where a sample makes no client: the README its first sample, the others a client. */
function withClient(code: string, given: string): string {
  return /\bpetstore\b(?!-)/.test(code) && !/\bpetstore = /.test(code) ? given + code : code;
}
