import { configRule, importTable, type Part } from './import-table.js';
import type { Import, SourceFile } from './source-file.js';

/** Imports that the table does not allow, one line each. */
export function forbiddenImports(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const part = partOf(file.path);
    if (part === undefined) return [`${file.path} is in no part of the import table`];
    return file.imports
      .filter((one) => !isAllowed(part, one) || breaksConfigRule(file.path, one))
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

function isAllowed({ part, ours, oursAsTypes = [], packages, never = [] }: Part, { target, isOurs, typeOnly }: Import) {
  if (!isOurs) return packages === 'any' || packages.includes(target);
  if (never.some((pattern) => covers(pattern, target))) return false;
  const allowed = [part, ...ours, ...(typeOnly ? oursAsTypes : [])];
  return allowed.some((pattern) => covers(pattern, target));
}

function breaksConfigRule(path: string, { target, typeOnly }: Import): boolean {
  const isImporter = configRule.importers.some((importer) => importer === path);
  return path.startsWith('src/') && target === configRule.file && !typeOnly && !isImporter;
}

/** One line per circle of imports, type-only imports included. */
export function importCycles(files: readonly SourceFile[]): string[] {
  const targets = new Map(files.map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) cycles.push([...trail.slice(start), path].join(' -> '));
    if (start >= 0 || done.has(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const { path } of files) visit(path, []);
  return cycles;
}
