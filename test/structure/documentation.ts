import type { Export, SourceFile } from './source-file.js';

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
    .filter(({ target, isOurs }) => isOurs && folderOf(target) !== folderOf(path))
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
