import { type Application, Converter, type DocumentReflection, RendererEvent } from 'typedoc';

/** Gives each guide the address of its file's name and the title of its heading; without this both would be the path of the file. */
export function load(app: Application): void {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, guide: DocumentReflection) => {
    guide.name = guide.name.replace(/^.*\//, '').toLowerCase();
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
