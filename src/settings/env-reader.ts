import { readFileSync } from 'node:fs';
import { BaseUrl } from '../contracts/accounts-file.js';
import { type KeyForm, type KeyRing, parseKeyRing } from '../sealing/key-ring.js';

export type Env = Readonly<Record<string, string | undefined>>;
export type ReadFile = (path: string) => string;

/** Reads the files that settings name; tests put their own in its place. */
export const readFileFromDisk: ReadFile = (path) => readFileSync(path, 'utf8');

/** What every reader of settings shares: where values come from and where problems go. */
export interface SettingsSource {
  env: Env;
  readFile: ReadFile;
  /** "NAME: what is wrong and the remedy"; never the value. */
  problems: string[];
}

export type EnvReader = ReturnType<typeof createEnvReader>;

/** Strict readers of single variables. An empty value counts as unset; a bad one becomes a problem and `undefined`. */
export function createEnvReader({ env, readFile, problems }: SettingsSource) {
  /** Every variable that was looked up, whether it is set or not. */
  const names = new Set<string>();

  function text(name: string): string | undefined {
    names.add(name);
    return env[name] || undefined;
  }

  function refuse(name: string, problem: string): undefined {
    problems.push(`${name}: ${problem}`);
  }

  function matching(name: string, pattern: RegExp, rule: string): string | undefined {
    const value = text(name);
    return value === undefined || pattern.test(value) ? value : refuse(name, rule);
  }

  function integer(name: string, { min, max }: { min: number; max: number }): number | undefined {
    const value = text(name);
    if (value === undefined) return undefined;
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    return number >= min && number <= max ? number : refuse(name, `must be a whole number from ${min} to ${max}`);
  }

  /** 0 takes any free port. */
  function port(name: string): number | undefined {
    // A Kubernetes service of a matching name sets these variables to an address such as tcp://10.0.0.1:80.
    if (serviceAddress.test(text(name) ?? ''))
      return refuse(name, 'set by a Kubernetes service link, not by you; add enableServiceLinks: false to the pod');
    return integer(name, { min: 0, max: 65_535 });
  }

  function oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = text(name);
    if (value === undefined) return undefined;
    return values.find((known) => known === value) ?? refuse(name, `must be one of ${values.join(', ')}`);
  }

  function baseUrl(name: string): string | undefined {
    const value = text(name);
    if (value === undefined) return undefined;
    const url = BaseUrl.safeParse(value);
    return url.success ? url.data : refuse(name, url.error.issues[0]?.message ?? 'must be a URL');
  }

  /** Entries separated by commas, blanks around them dropped. `problemOf` says what is wrong with one, which is named by its place. */
  function list(name: string, problemOf: (entry: string) => string | null): string[] | undefined {
    const entries = text(name)
      ?.split(',')
      .map((entry) => entry.trim());
    for (const [index, entry] of entries?.entries() ?? []) {
      const problem = problemOf(entry);
      if (problem !== null) refuse(name, `entry ${index + 1} ${problem}`);
    }
    return entries;
  }

  return {
    names: names as ReadonlySet<string>,
    text,
    refuse,
    matching,
    integer,
    port,
    oneOf,
    baseUrl,
    list,
    ...createFileReaders({ readFile, text, refuse }),
  };
}

/** What the readers of files need of the others. */
interface FileReaderParts {
  readFile: ReadFile;
  text(name: string): string | undefined;
  refuse(name: string, problem: string): undefined;
}

/** Readers of files that settings name. A file that cannot be used becomes a problem of that setting, and `undefined`. */
function createFileReaders({ readFile, text, refuse }: FileReaderParts) {
  /** The text of a file. The path stays out of the problem: a secret may stand there by mistake. */
  function textFile(name: string, path: string): string | undefined {
    try {
      return readFile(path);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      return refuse(name, `the file cannot be read${code}; check its path and permissions`);
    }
  }

  /** A secret kept in a file: one newline at its end is an editor's, not part of the secret. */
  function secretFile(name: string, path: string): string | undefined {
    const kept = textFile(name, path)?.replace(/\r?\n$/, '');
    return kept === '' ? refuse(name, 'the file is empty; put the secret in it') : kept;
  }

  /** The keys of a variable, or of the file that `<name>_FILE` names. */
  function keyRing(name: string, form?: KeyForm): KeyRing | undefined {
    const found = secret(name);
    if (found === undefined) return undefined;
    const parsed = parseKeyRing(found.value, form);
    if ('ring' in parsed) return parsed.ring;
    for (const problem of parsed.problems) refuse(found.setBy, problem);
    return undefined;
  }

  /** A secret stands in a variable, or in the file that `<name>_FILE` names; `setBy` is the one of the two to blame. */
  function secret(name: string): { value: string; setBy: string } | undefined {
    const fileSetting = `${name}_FILE`;
    const value = text(name);
    const path = text(fileSetting);
    if (path === undefined) return value === undefined ? undefined : { value, setBy: name };
    if (value !== undefined) return refuse(name, `set together with ${fileSetting}; keep one of them`);
    const kept = secretFile(fileSetting, path);
    return kept === undefined ? undefined : { value: kept, setBy: fileSetting };
  }

  const isSecretSet = (name: string): boolean => [name, `${name}_FILE`].map(text).some((value) => value !== undefined);

  /** The JSON in the file that a variable names. The parser's message is dropped: it quotes the text. */
  function jsonFile(name: string): { json: unknown } | undefined {
    const path = text(name);
    const content = path === undefined ? undefined : textFile(name, path);
    if (content === undefined) return undefined;
    try {
      return { json: JSON.parse(content) };
    } catch {
      return refuse(name, 'the file is not valid JSON; check it with a JSON linter');
    }
  }

  return { keyRing, secret, isSecretSet, secretFile, jsonFile };
}

/** Settings of the sandbox and of the tests are theirs to check. */
const foreign = /^FARETRAIL_(SANDBOX|TEST)_/;

/** Kubernetes adds these for every service whose name begins with "faretrail". */
const serviceLink = /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const serviceAddress = /^(tcp|udp|sctp):\/\//;

/** One problem for each variable that begins with `FARETRAIL_` and that no reader has looked up; a misspelt setting is a silent default. */
export function findUnknownSettings(env: Env, ...known: readonly ReadonlySet<string>[]): string[] {
  const isKnown = (name: string): boolean => foreign.test(name) || known.some((names) => names.has(name));
  const isServiceLink = (name: string, value: string): boolean =>
    serviceLink.test(name) || (name.endsWith('_PORT') && serviceAddress.test(value));
  return Object.entries(env)
    .filter(([name, value]) => name.startsWith('FARETRAIL_') && value && !isKnown(name) && !isServiceLink(name, value))
    .map(
      ([name]) =>
        `${name}: not a setting; correct it (docs/reference/settings.md) or unset it, or name it in FARETRAIL_ACCOUNTS_FILE as the place of a secret`,
    );
}
