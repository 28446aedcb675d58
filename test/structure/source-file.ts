import { dirname, posix } from 'node:path';
import { type ParseResult, parseSync, Visitor } from 'rolldown/utils';

/** What the rules want to know of one TypeScript file. */
export interface SourceFile {
  /** Seen from the checkout, such as `src/domain/trail.ts`. */
  path: string;
  lines: number;
  imports: Import[];
  functions: { line: number; lines: number }[];
}

export interface Import {
  line: number;
  /** A path such as `src/domain/trail.ts`, a package, or `node`. */
  target: string;
  /** `import type`. Not `import { type A }`, which loads the module all the same. */
  typeOnly: boolean;
}

type Statement = ParseResult['program']['body'][number];
type Expression = Extract<Statement, { type: 'ExpressionStatement' }>['expression'];

/** Reads one file. Callbacks of `describe` do not count as functions. Throws when the text does not parse. */
export function parseSource(path: string, text: string): SourceFile {
  const { errors, program } = parseSync(path, text);
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`);
  const lineOf = (offset: number): number => text.slice(0, offset).split('\n').length;
  const file: SourceFile = { path, lines: text.trimEnd().split('\n').length, imports: [], functions: [] };
  const describeCallbacks = new Set<number>();
  const addImport = (start: number, specifier: string, typeOnly: boolean) =>
    file.imports.push({ line: lineOf(start), target: toTarget(path, specifier), typeOnly });
  const addFunction = ({ start, end }: { start: number; end: number }) => {
    if (describeCallbacks.has(start)) return;
    file.functions.push({ line: lineOf(start), lines: lineOf(end) - lineOf(start) + 1 });
  };
  new Visitor({
    ImportDeclaration: ({ start, source, importKind }) => addImport(start, source.value, importKind === 'type'),
    ExportNamedDeclaration: ({ start, source, exportKind }) => {
      if (source) addImport(start, source.value, exportKind === 'type');
    },
    ExportAllDeclaration: ({ start, source, exportKind }) => addImport(start, source.value, exportKind === 'type'),
    ImportExpression: ({ start, source }) => {
      if (source.type === 'Literal') addImport(start, String(source.value), false);
    },
    TSImportType: ({ start, source }) => addImport(start, String(source.value), true),
    CallExpression: ({ callee, arguments: args }) => {
      if (isDescribe(callee)) for (const { start } of args) describeCallbacks.add(start);
    },
    FunctionDeclaration: addFunction,
    FunctionExpression: addFunction,
    ArrowFunctionExpression: addFunction,
  }).visit(program);
  return file;
}

/** Whether the target of an import is a file of ours. */
export const isOurs = ({ target }: Import): boolean => target.endsWith('.ts');

function toTarget(importer: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(dirname(importer), specifier).replace(/\.js$/, '.ts');
  if (specifier.startsWith('node:')) return 'node';
  return /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
}

/** Also that of `describe.each([])`. */
function isDescribe(node: Expression): boolean {
  if (node.type === 'MemberExpression') return isDescribe(node.object);
  if (node.type === 'CallExpression') return isDescribe(node.callee);
  return node.type === 'Identifier' && node.name === 'describe';
}
