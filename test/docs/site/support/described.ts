import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { SITE } from './site.ts';

const Part = z.object({ text: z.string() });
const Comment = z.object({
  summary: z.array(Part),
  blockTags: z.optional(z.array(z.object({ tag: z.string(), content: z.array(Part) }))),
});
type Comment = z.infer<typeof Comment>;

const Signature = z.object({ comment: z.optional(Comment) });

/** A symbol as typedoc writes it down, as far as it is read here. */
const Reflection = z.object({
  name: z.string(),
  kind: z.number(),
  flags: z.object({ isOptional: z.optional(z.boolean()) }),
  comment: z.optional(Comment),
  signatures: z.optional(z.array(Signature)),
  getSignature: z.optional(Signature),
  inheritedFrom: z.optional(z.unknown()),
  get children() {
    return z.optional(z.array(Reflection));
  },
});
type Reflection = z.infer<typeof Reflection>;

/** Typedoc's numbers of what the doors export. */
const KINDS = new Map([
  [32, 'constant'],
  [64, 'function'],
  [128, 'class'],
  [256, 'interface'],
  [2_097_152, 'type'],
]);

/** What the site says of one symbol, or of a member of one. */
export interface Described {
  door: string;
  /** The class or the interface; empty for a symbol itself. */
  owner: string;
  name: string;
  kind: string;
  isOptional: boolean;
  callable: boolean;
  comment: Comment | undefined;
}

const { children: doors = [] } = Reflection.parse(JSON.parse(readFileSync(join(SITE, 'api.json'), 'utf8')));
const exported = doors.flatMap(({ name: door, children = [] }) => children.map((symbol) => ({ door, symbol })));

/** What the doors export; what one passes on from another is described there. */
export const SYMBOLS: readonly Described[] = exported
  .filter(({ symbol }) => KINDS.has(symbol.kind))
  .map(({ door, symbol }) => describe(symbol, { door, owner: '' }));

/** The members of classes and interfaces, where they are declared. */
export const MEMBERS: readonly Described[] = exported.flatMap(({ door, symbol }) =>
  (symbol.children ?? [])
    .filter(({ inheritedFrom }) => inheritedFrom === undefined)
    .map((member) => describe(member, { door, owner: symbol.name })),
);

function describe(reflection: Reflection, { door, owner }: { door: string; owner: string }): Described {
  const { name, kind, flags, signatures, getSignature, comment } = reflection;
  const commented = signatures?.find((signature) => signature.comment !== undefined) ?? getSignature;
  return {
    door,
    owner,
    name,
    kind: KINDS.get(kind) ?? 'member',
    isOptional: flags.isOptional === true,
    callable: signatures !== undefined,
    comment: comment ?? commented?.comment,
  };
}

export function isCallable({ callable }: Described): boolean {
  return callable;
}

/** The sentences before the tags. */
export function textOf({ comment }: Described): string {
  return (comment?.summary ?? []).map(({ text }) => text).join('');
}

/** The tags, each with its text. */
export function tagsOf({ comment }: Described): [tag: string, text: string][] {
  return (comment?.blockTags ?? []).map(({ tag, content }) => [tag, content.map(({ text }) => text).join('')]);
}
