import { basename } from 'node:path';
import {
  Application,
  Converter,
  type DocumentReflection,
  IndexEvent,
  JSX,
  ParameterType,
  type ProjectReflection,
  RendererEvent,
} from 'typedoc';
import * as z from 'zod/mini';

/** Opens the groups of the menu for a reader who has not closed them. */
const OPEN_GROUPS = `for (const group of ['Start', 'Tasks', 'Running', 'Reference', 'Symbols'])
  try { localStorage['tsd-accordion-' + group] ??= 'true'; } catch {}`;

const Guides = z.record(z.string(), z.array(z.string()));

/**
 * Takes the guides from the option `guides`, group by group, and gives each the address of its file's name, or its folder's for a
 * README, and the title of its heading; else both would be its path.
 */
export function load(app: Application): void {
  app.options.addDeclaration({ name: 'guides', help: 'The guides of each group, in the order of the menu', type: ParameterType.Mixed });
  const groups = new Map<string, string>();
  app.on(Application.EVENT_BOOTSTRAP_END, () => {
    const guides = Guides.parse(app.options.getValue('guides'));
    for (const [group, paths] of Object.entries(guides)) for (const path of paths) groups.set(path.replace(/\.md$/, ''), group);
    app.options.setValue('projectDocuments', Object.values(guides).flat());
  });
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, guide: DocumentReflection) => {
    guide.frontmatter.category = groups.get(guide.name);
    guide.name = basename(guide.name.replace(/\/README$/, '')).toLowerCase();
  });
  // Addresses are given by now.
  app.renderer.on(RendererEvent.BEGIN, ({ project }) => {
    for (const guide of project.documents ?? []) guide.name = titleOf(guide);
    sortGuides(project);
  });
  app.renderer.hooks.on('head.begin', () => JSX.createElement('script', null, JSX.createElement(JSX.Raw, { html: OPEN_GROUPS })));
  // In a long guide a word of the text counts little; a heading says what its part is about.
  app.renderer.on(IndexEvent.PREPARE_INDEX, (index: IndexEvent) => {
    index.searchFieldWeights.heading = 20;
    for (const [row, found] of index.searchResults.entries())
      if (found.isDocument()) index.searchFields[row] = { heading: headingsOf(found).join('\n') };
  });
}

/** typedoc sorts each category by name. */
function sortGuides({ documents = [], categories = [] }: ProjectReflection): void {
  const place = (child: unknown) => documents.findIndex((guide) => Object.is(guide, child));
  for (const { children } of categories) children.sort((one, other) => place(one) - place(other));
}

function titleOf(guide: DocumentReflection): string {
  return headingsOf(guide)[0] ?? guide.name;
}

function headingsOf({ content }: DocumentReflection): string[] {
  const text = content
    .map((part) => part.text)
    .join('')
    .replace(/^```.*?^```$/gms, '');
  return Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = '']) => heading);
}
