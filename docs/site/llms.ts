import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Application, type DocumentReflection, type ProjectReflection, RendererEvent } from 'typedoc';
import manifest from '../../package.json' with { type: 'json' };

/** Writes llms.txt (llmstxt.org) beside the pages: what the package is, and where each guide and each door is described. */
export function load(app: Application): void {
  app.renderer.on(RendererEvent.END, ({ project, outputDirectory }) => {
    writeFileSync(join(outputDirectory, 'llms.txt'), textOf(project, app));
  });
}

function textOf(project: ProjectReflection, app: Application): string {
  const addressOf = (target: Parameters<NonNullable<typeof app.renderer.router>['getFullUrl']>[0]) =>
    app.renderer.router?.getFullUrl(target);
  const guides = (project.documents ?? []).map((guide) => `- [${guide.name}](${addressOf(guide)}): ${beginningOf(guide)}`);
  const doors = (project.children ?? []).map((door) => {
    const summary = door.comment?.summary.map(({ text }) => text).join('') ?? '';
    return `- [${door.name}](${addressOf(door)}): ${firstSentence(summary)}`;
  });
  return [
    `# ${manifest.name}`,
    `> ${manifest.description}`,
    `## Guides\n\n${guides.join('\n')}`,
    `## Symbols\n\n${doors.join('\n')}\n`,
  ].join('\n\n');
}

/** The first sentence of a guide's first paragraph. */
function beginningOf({ content }: DocumentReflection): string {
  const text = content
    .map((part) => part.text)
    .join('')
    .replace(/^```.*?^```$/gms, '');
  const paragraphs = text.split(/\n\s*\n/).filter((part) => /^[A-Z`[]/.test(part));
  return firstSentence(paragraphs[0] ?? '');
}

function firstSentence(text: string): string {
  const plain = text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
  return /^.*?[.:](?=\s|$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain;
}
