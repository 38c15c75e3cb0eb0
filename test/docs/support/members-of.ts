import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './installed-package.ts';

export interface Member {
  name: string;
  /** What `@default` says. */
  default: string | undefined;
}

/** The members of an interface, or of a union of names, as a source file declares them. */
export function membersOf(path: string, declaration: string): Member[] {
  const source = ts.createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.Latest, true);
  const found = source.statements.find((node) => isNamed(node, declaration));
  if (found && ts.isInterfaceDeclaration(found))
    return found.members.map((member) => ({ name: nameOf(member), default: defaultOf(member) }));
  if (found && ts.isTypeAliasDeclaration(found) && ts.isUnionTypeNode(found.type))
    return found.type.types.map((type) => ({ name: type.getText(), default: undefined }));
  throw new Error(`${path} declares no ${declaration}`);
}

function isNamed(node: ts.Statement, name: string): boolean {
  return (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) && node.name.text === name;
}

function nameOf(member: ts.TypeElement): string {
  return member.name?.getText() ?? '';
}

function defaultOf(member: ts.TypeElement): string | undefined {
  const tag = ts.getJSDocTags(member).find(({ tagName }) => tagName.text === 'default');
  return tag && ts.getTextOfJSDocComment(tag.comment)?.trim();
}
