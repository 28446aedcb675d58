import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { projectRoot } from './temporal/project-root.js';

const compiled = join(projectRoot, 'dist/src');
const entries = { '.': 'index', './workflow': 'in-workflow' } as const;
/** Packages that the caller has already, in a version of the caller's choice. */
const peers = /^@temporalio\//;

/** What the typed client is made of. */
export interface ClientFiles {
  /** Compiled files and declarations, relative to `dist/src`. */
  files: string[];
  /** Names of the packages that they load. */
  packages: string[];
}

const specifiers = /\b(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g;
const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

/** Follows the imports of the entries, of the code and of its types. Needs a compiled checkout. */
export function findClientFiles(): ClientFiles {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(specifiers)) {
      if (specifier.startsWith('.')) {
        const at = resolve(dirname(file), specifier);
        visit(file.endsWith('.d.ts') ? at.replace(/\.js$/, '.d.ts') : at);
      } else if (/^[@a-z]/.test(specifier) && !specifier.startsWith('node:')) packages.add(packageOf(specifier));
    }
  };
  for (const name of Object.values(entries))
    for (const ending of ['js', 'd.ts']) visit(join(compiled, 'client', `${name}.${ending}`));
  return { files: [...files].map((file) => relative(compiled, file)).sort(), packages: [...packages].sort() };
}

/** Puts the package `faretrail-client` together in `folder`, ready for `npm pack`: the compiled client, its schemas, and no code of a worker. */
export function makeClientPackage(folder: string): void {
  const { files, packages } = findClientFiles();
  const own: { version: string; license: string; engines: object; dependencies: Record<string, string> } = JSON.parse(
    readFileSync(join(projectRoot, 'package.json'), 'utf8'),
  );
  const versionOf = (name: string): string => own.dependencies[name] ?? fail(name);
  const pick = (names: string[], toRange: (version: string) => string) =>
    Object.fromEntries(names.map((name) => [name, toRange(versionOf(name))]));
  rmSync(folder, { recursive: true, force: true });
  for (const file of files) {
    mkdirSync(dirname(join(folder, 'dist', file)), { recursive: true });
    copyFileSync(join(compiled, file), join(folder, 'dist', file));
  }
  cpSync(join(projectRoot, 'docs/schema'), join(folder, 'schema'), { recursive: true });
  copyFileSync(join(projectRoot, 'LICENSE'), join(folder, 'LICENSE'));
  copyFileSync(join(projectRoot, 'src/client/README.md'), join(folder, 'README.md'));
  const entryOf = (name: string) => ({ types: `./dist/client/${name}.d.ts`, default: `./dist/client/${name}.js` });
  const about = {
    name: 'faretrail-client',
    version: own.version,
    description: 'The typed client of faretrail, a durable ride-order worker on Temporal.',
    license: own.license,
    type: 'module',
    sideEffects: false,
    engines: own.engines,
    exports: {
      ...Object.fromEntries(Object.entries(entries).map(([path, name]) => [path, entryOf(name)])),
      './schema/*': './schema/*',
      './package.json': './package.json',
    },
    files: ['dist', 'schema'],
    dependencies: pick(
      packages.filter((name) => !peers.test(name)),
      (version) => version,
    ),
    peerDependencies: pick(
      packages.filter((name) => peers.test(name)),
      (version) => `^${version}`,
    ),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
}

function fail(name: string): never {
  throw new Error(`the client loads ${name}, which package.json does not name`);
}

const given = process.argv[2];
if (process.argv[1] === import.meta.filename) {
  const folder = resolve(given ?? join(projectRoot, 'dist/client-package'));
  makeClientPackage(folder);
  console.log(`faretrail-client is in ${folder}; npm pack and npm publish take it from there`);
}
