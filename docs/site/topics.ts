import { type Application, CommentTag, type Context, Converter, type DeclarationReflection } from 'typedoc';

/** What the main door exports, by where it is declared; the rest belongs to the client. */
const TOPICS: readonly (readonly [place: RegExp, topic: string])[] = [
  [/src\/errors\.ts$/, 'Errors'],
  [/src\/contract\//, 'Models'],
  [/src\/events\.ts$/, 'Events'],
  [/src\/quota/, 'Quota'],
  [/src\/sync\//, 'Synchronisation'],
  [/src\/view\//, 'View'],
];

/** Groups the many symbols of the main door by what they are about, as the folders do; other doors are about one thing each. */
export function load(app: Application): void {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context: Context) => {
    const main = context.project.children?.find(({ name }) => name === context.project.packageName);
    for (const symbol of main?.children ?? []) {
      const { comment } = symbol.signatures?.[0] ?? symbol;
      comment?.blockTags.push(new CommentTag('@category', [{ kind: 'text', text: topicOf(symbol, context) }]));
    }
  });
}

function topicOf(symbol: DeclarationReflection, context: Context): string {
  const file = context.getSymbolFromReflection(symbol)?.declarations?.[0]?.getSourceFile().fileName ?? '';
  return TOPICS.find(([place]) => place.test(file))?.[1] ?? 'Client';
}
