import { dirname, posix } from 'node:path';
import { type ParseResult, parseSync, Visitor } from 'rolldown/utils';

/** What the rules want to know of one TypeScript file. */
export interface SourceFile {
  /** Seen from the checkout, such as `src/domain/trail.ts`. */
  path: string;
  lines: number;
  imports: Import[];
  exports: Export[];
  functions: { line: number; lines: number }[];
  /** Lines that read `process.env`. */
  envLines: number[];
  /** Lines outside functions with a regular expression that keeps a state, by the flag `g` or `y`. */
  statefulRegexLines: number[];
}

export interface Import {
  line: number;
  /** A path such as `src/domain/trail.ts`, a package, or `node`. */
  target: string;
  /** `import type`. Not `import { type A }`, which loads the module all the same. */
  typeOnly: boolean;
  /** `*` stands for all. */
  names: string[];
}

export interface Export {
  /** `*` stands for all of `from`. */
  name: string;
  line: number;
  isDocumented: boolean;
  /** Where it really comes from, for a re-export. */
  from?: { path: string; name: string };
}

type Statement = ParseResult['program']['body'][number];
type Expression = Extract<Statement, { type: 'ExpressionStatement' }>['expression'];
type LineOf = (offset: number) => number;

/** Reads one file. Callbacks of `describe` do not count as functions. Throws when the text does not parse. */
export function parseSource(path: string, text: string): SourceFile {
  const parsed = parseSync(path, text);
  if (parsed.errors[0]) throw new Error(`${path}: ${parsed.errors[0].message}`);
  const lineOf: LineOf = (offset) => text.slice(0, offset).split('\n').length;
  const isDocumented = (start: number) =>
    parsed.comments.some(
      ({ type, value, end }) => type === 'Block' && value.startsWith('*') && /^\s*$/.test(text.slice(end, start)),
    );
  return {
    path,
    lines: text.trimEnd().split('\n').length,
    exports: exportsOf(path, parsed, lineOf, isDocumented),
    ...walk(path, parsed, lineOf),
  };
}

/** Whether the target of an import is a file of ours. */
export const isOurs = ({ target }: Import): boolean => target.endsWith('.ts');

function toTarget(importer: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(dirname(importer), specifier).replace(/\.js$/, '.ts');
  if (specifier.startsWith('node:')) return 'node';
  return /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
}

function walk(path: string, { program }: ParseResult, lineOf: LineOf) {
  const found: Pick<SourceFile, 'imports' | 'functions' | 'envLines'> & { regexes: number[] } = {
    imports: [],
    functions: [],
    envLines: [],
    regexes: [],
  };
  const inFunctions: [start: number, end: number][] = [];
  const describeCallbacks = new Set<number>();
  const addImport = (start: number, specifier: string, typeOnly: boolean, names: string[]) =>
    found.imports.push({ line: lineOf(start), target: toTarget(path, specifier), typeOnly, names });
  const addFunction = ({ start, end }: { start: number; end: number }) => {
    inFunctions.push([start, end]);
    if (describeCallbacks.has(start)) return;
    found.functions.push({ line: lineOf(start), lines: lineOf(end) - lineOf(start) + 1 });
  };
  new Visitor({
    ImportDeclaration: (node) => {
      const names = node.specifiers.map((one) => (one.type === 'ImportSpecifier' ? nameOf(one.imported) : '*'));
      addImport(node.start, node.source.value, node.importKind === 'type', names);
    },
    ExportNamedDeclaration: (node) => {
      const names = node.specifiers.map(({ local }) => nameOf(local));
      if (node.source) addImport(node.start, node.source.value, node.exportKind === 'type', names);
    },
    ExportAllDeclaration: (node) => addImport(node.start, node.source.value, node.exportKind === 'type', ['*']),
    ImportExpression: ({ start, source }) => {
      if (source.type === 'Literal') addImport(start, String(source.value), false, ['*']);
    },
    TSImportType: ({ start, source }) => addImport(start, String(source.value), true, ['*']),
    MemberExpression: ({ start, object, property }) => {
      if (isNamed(object, 'process') && isNamed(property, 'env')) found.envLines.push(lineOf(start));
    },
    CallExpression: ({ callee, arguments: args }) => {
      if (isNamed(rootOf(callee), 'describe')) for (const { start } of args) describeCallbacks.add(start);
    },
    Literal: (node) => {
      if ('regex' in node && /[gy]/.test(node.regex.flags)) found.regexes.push(node.start);
    },
    NewExpression: ({ start, callee, arguments: [, flags] }) => {
      if (isNamed(callee, 'RegExp') && flags?.type === 'Literal' && /[gy]/.test(String(flags.value)))
        found.regexes.push(start);
    },
    FunctionDeclaration: addFunction,
    FunctionExpression: addFunction,
    ArrowFunctionExpression: addFunction,
  }).visit(program);
  const { regexes, ...rest } = found;
  const atTop = regexes.filter((at) => !inFunctions.some(([start, end]) => start < at && at < end));
  return { ...rest, statefulRegexLines: atTop.map(lineOf) };
}

function exportsOf(path: string, { module }: ParseResult, lineOf: LineOf, isDocumented: (start: number) => boolean) {
  return module.staticExports.flatMap(({ start, entries }) =>
    entries.map(({ exportName, importName, moduleRequest }): Export => {
      const from = moduleRequest && { path: toTarget(path, moduleRequest.value), name: importName.name ?? '*' };
      const name = exportName.name ?? (exportName.kind === 'Default' ? 'default' : '*');
      return { name, line: lineOf(start), isDocumented: isDocumented(start), ...(from && { from }) };
    }),
  );
}

const nameOf = (node: { type: string; name?: string; value?: string }): string => node.name ?? node.value ?? '';

/** The `describe` of `describe.each([])`. */
function rootOf(node: Expression): object {
  if (node.type === 'MemberExpression') return rootOf(node.object);
  return node.type === 'CallExpression' ? rootOf(node.callee) : node;
}

const isNamed = (node: object, name: string): boolean =>
  'type' in node && node.type === 'Identifier' && 'name' in node && node.name === name;
