import { importTable, type Part } from './import-table.js';
import type { TextFile } from './project-files.js';
import { type Import, isOurs, type SourceFile } from './source-file.js';

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

interface Rule {
  what: string;
  found: RegExp;
  /** Which files of `src` must not hold it; all unless given. */
  where?: RegExp;
}

const anywhere = /^src\//;
/** Workflows have the clock of Temporal. */
const besideClock = /^src\/(?!workflows\/|domain\/|clock\.ts).*\.ts$/;
const inWorkflows = /^src\/(?:workflows|domain)\//;
const besideDriver = /^src\/(?!workflows\/|temporal\/runs\.ts|temporal\/run-errors\.ts)/;

/** What reaches below the public parts of the SDK, of Node or of a library, what a workflow must not use, and what has one place. */
const rules: readonly Rule[] = [
  { what: 'a deep import of the SDK', found: /['"]@temporalio\/[a-z-]+\/(?:lib|src)\b/ },
  { what: 'the native bridge of the SDK', found: /@temporalio\/core-bridge|\bnativeWorker\b/ },
  { what: 'a hidden option', found: /\bisolateExecutionTimeout\b/ },
  { what: 'the promise hook of the SDK', found: /\bsetPromiseHook\b/ },
  { what: 'a patched thread', found: /createRequire[^;]*worker_threads|\bthreads\.Worker =/ },
  { what: 'a patched prototype', found: /\.prototype\.\w+ =|\bsocket\.(?:read|write) =/ },
  { what: 'names of partitions', found: /\blistTaskQueuePartitions\b/ },
  { what: 'a local activity', found: /\bproxyLocalActivities\b/ },
  {
    what: 'a clock that is read outside src/clock.ts',
    found: /\bDate\.now\b|\bnew Date\(\)|\bperformance\b(?!['"])|\bhrtime\b/,
    where: besideClock,
  },
  // The wall clock may step: a difference of two readings is no duration. `ageMs` is for instants from elsewhere.
  {
    what: 'a duration by the wall clock',
    found:
      /\b(?:now|wallMs|wall)\(\)\s*(?:[-+<]|>=?\s)|(?:[-<+]|[^=]>)=?\s*(?:this\.(?:#\w+\.)*#?)?(?:now|wallMs|wall)\(\)/,
    where: besideClock,
  },
  { what: 'a read of the environment in a folder', found: /\bprocess\.env\b/, where: /^src\/[^/]+\// },
  // Preloaded modules are frozen, and such an expression writes `lastIndex`: the first use of it would fail the workflow task.
  {
    what: 'a regular expression with a state',
    found: /^(?:export )?const \w+ = (?:\/.*\/\w*[gy]\w*;|new RegExp\(.*'\w*[gy]\w*'\);)/m,
    where: inWorkflows,
  },
  // `onUpdate` gives each update a validator, which refuses an update that cannot be decoded before it is accepted.
  { what: 'an update without a validator', found: /setHandler\(\s*\w+Update\b/, where: inWorkflows },
  // The functions of `run-kit.ts` take only messages that have a description.
  {
    what: 'a handler without a description',
    found: /\bsetHandler\b[^}]*\} from '@temporalio\/workflow'/,
    where: /^src\/workflows\/(?!run-kit\.ts)/,
  },
  {
    what: 'a call of a run beside the driver',
    found:
      /\.getHandle\b|\.(?:execute|start)Update\b|\.describe\(\)|instanceof Workflow(?:NotFound|Failed|Update|Execution)/,
    where: besideDriver,
  },
];

/** Places that break a rule, one line each. */
export function brokenRules(files: readonly TextFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    rules
      .filter(({ where }) => (where ?? anywhere).test(path))
      .flatMap(({ what, found }) => (found.test(text) ? [`${path}: ${what}`] : [])),
  );
}
