import { importTable, type Part } from './import-table.js';
import { type Export, type Import, isOurs, type SourceFile } from './source-file.js';

/** Imports that the table does not allow, one line each. */
export function forbiddenImports(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const part = partOf(file.path);
    if (part === undefined) return [`${file.path} is in no part of the import table`];
    return file.imports
      .filter((one) => !isAllowed(part, one))
      .map((one) => `${file.path}:${one.line} may not import ${one.target}${one.typeOnly ? ' (type)' : ''}`);
  });
}

/** Reading the environment is for process files and what stands beside them, not for the folders of `src`. */
export function environmentReads(files: readonly SourceFile[]): string[] {
  const inFolders = files.filter(({ path }) => /^src\/[^/]+\//.test(path));
  return inFolders.flatMap(({ path, envLines }) => envLines.map((line) => `${path}:${line} reads process.env`));
}

/** Preloaded modules are frozen, and such an expression writes `lastIndex`: the first use of it would fail the workflow task. */
export function statefulRegexes(files: readonly SourceFile[]): string[] {
  const preloaded = files.filter(({ path }) => /^src\/(workflows|domain)\//.test(path));
  return preloaded.flatMap(({ path, statefulRegexLines }) =>
    statefulRegexLines.map((line) => `${path}:${line} keeps a regular expression with a state`),
  );
}

function partOf(path: string): Part | undefined {
  const rows = importTable.filter(({ part }) => covers(part, path));
  return rows.find(({ part }) => part === path) ?? rows[0];
}

/** `src` covers all below it, `src/*.ts` the files in it, `src/config.ts` itself. */
function covers(pattern: string, path: string): boolean {
  const [before, after] = pattern.split('*');
  if (after === undefined) return path === pattern || path.startsWith(`${pattern}/`);
  const middle = path.slice(before?.length, path.length - after.length);
  return path === `${before}${middle}${after}` && !middle.includes('/');
}

function isAllowed({ part, ours, oursAsTypes = [], packages, never = [] }: Part, one: Import) {
  const { target, typeOnly } = one;
  const isIn = (patterns: readonly string[]) => patterns.some((pattern) => covers(pattern, target));
  if (!isOurs(one)) return packages === 'any' || packages.includes(target);
  return (typeOnly && isIn(oursAsTypes)) || (isIn([part, ...ours]) && !isIn(never));
}

type Files = ReadonlyMap<string, SourceFile>;

/** Exports without a doc comment that another folder imports, or that the entry of the client gives to users. */
export function undocumentedExports(files: readonly SourceFile[]): string[] {
  const byPath: Files = new Map(files.map((file) => [file.path, file]));
  const used = files.filter(({ path }) => !path.startsWith('test/')).flatMap((file) => usedFromElsewhere(file));
  const published = byPath.has('src/client/index.ts') ? [{ path: 'src/client/index.ts', name: '*' }] : [];
  const missing = [...used, ...published]
    .flatMap(({ path, name }) => declarations(byPath, path, name))
    .filter(({ declared }) => !declared.isDocumented)
    .map(({ path, declared }) => `${path}:${declared.line} ${declared.name} has no doc comment`);
  return [...new Set(missing)].sort();
}

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

function usedFromElsewhere({ path, imports }: SourceFile): { path: string; name: string }[] {
  return imports
    .filter((one) => isOurs(one) && folderOf(one.target) !== folderOf(path))
    .flatMap(({ target, names }) => names.map((name) => ({ path: target, name })));
}

/** Follows re-exports to where the name is declared; `*` stands for all names of the file. */
function declarations(files: Files, path: string, name: string): { path: string; declared: Export }[] {
  const exported = files.get(path)?.exports ?? [];
  const named = exported.filter((one) => name === '*' || one.name === name);
  const candidates = named.length > 0 ? named : exported.filter((one) => one.name === '*');
  return candidates.flatMap((declared) => {
    if (declared.from === undefined) return [{ path, declared }];
    return declarations(files, declared.from.path, declared.name === '*' ? name : declared.from.name);
  });
}
