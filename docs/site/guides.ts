import { basename } from 'node:path';
import { type Application, Converter, type DocumentReflection, RendererEvent } from 'typedoc';

/** Gives each guide the address of its file's name, or its folder's for a README, and the title of its heading; else both would be its path. */
export function load(app: Application): void {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, guide: DocumentReflection) => {
    guide.name = basename(guide.name.replace(/\/README$/, '')).toLowerCase();
  });
  // Addresses are given by now.
  app.renderer.on(RendererEvent.BEGIN, ({ project }) => {
    for (const guide of project.documents ?? []) guide.name = titleOf(guide);
  });
}

function titleOf(guide: DocumentReflection): string {
  const text = guide.content.map((part) => part.text).join('');
  return /^# (.+)$/m.exec(text)?.[1] ?? guide.name;
}
