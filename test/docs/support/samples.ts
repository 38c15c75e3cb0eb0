import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './installed-package.ts';

/** Where code is shown that has to run. */
export const DOCUMENTS = ['README.md', 'docs/getting-started.md', 'docs/errors.md', 'docs/SECURITY.md', 'docs/design.md', 'docs/bulk.md'];

/** A block of code in a document. */
export interface Sample {
  /** Such as `README.md:7`. */
  place: string;
  code: string;
  /** What it says that it prints, line by line: `console.log(x); // → 12`. */
  prints: string[];
}

const CLIENT = "import { PetStoreClient } from 'petstore-inventory';\nconst petstore = new PetStoreClient();\n";

/** The blocks of a document in one language, in their order. */
export function samplesOf(document: string, language = 'ts'): Sample[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const fences = text.matchAll(new RegExp(`^\`\`\`${language}\\n(?<code>.*?)^\`\`\`$`, 'gms'));
  return Array.from(fences, ({ index, groups }) => {
    const code = groups?.code ?? '';
    const line = text.slice(0, index).split('\n').length;
    return {
      place: `${document}:${line}`,
      code: language === 'ts' ? withClient(code) : code,
      prints: Array.from(code.matchAll(/\/\/ → (.*)$/gm), ([, printed = '']) => printed),
    };
  });
}

/** The documents say that `petstore` is `new PetStoreClient()` where a sample makes none. */
function withClient(code: string): string {
  return /\bpetstore\b(?!-)/.test(code) && !/\bpetstore = /.test(code) ? CLIENT + code : code;
}
