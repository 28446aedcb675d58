import { BaseUrl } from '../contracts/accounts-file.js';
import { InvalidInput } from '../domain/errors.js';
import { readJson } from '../domain/json.js';
import { type KeyForm, type KeyRing, keyRecipe, parseKeyRing, sharesKey } from '../sealing/key-ring.js';
import type { PayloadEncryption } from '../sealing/payload-codec.js';
import { readTextFile, strayIn } from './text-file.js';

export type Env = Readonly<Record<string, string | undefined>>;
/** Reads the files that settings name; tests put their own in its place. */
export type ReadFile = (path: string) => string;

/** Strict readers of single variables. An empty value counts as unset; a bad one becomes a problem and `undefined`. */
export class EnvReader {
  /** "NAME: what is wrong and the remedy"; never the value. */
  readonly problems: string[] = [];
  readonly #env: Env;
  readonly #readFile: ReadFile;
  /** Every variable that was looked up, whether it is set or not. */
  readonly #names = new Set<string>();
  readonly #rings: { setBy: string; ring: KeyRing }[] = [];

  /** What has been told of a value that is then as good as unset. */
  readonly #unusable = new Set<string>();

  constructor(env: Env, readFile: ReadFile = readTextFile) {
    this.#env = env;
    this.#readFile = readFile;
  }

  refuse(name: string, problem: string): undefined {
    if (!this.#unusable.has(name)) this.problems.push(`${name}: ${problem}`);
  }

  /** `toldAs`: what problems name, if not the variable. */
  text(name: string, toldAs = name): string | undefined {
    this.#names.add(name);
    const value = this.#env[name] || undefined;
    const stray = value === undefined ? null : strayIn(value);
    if (stray === null) return value;
    this.refuse(toldAs, stray);
    this.#unusable.add(toldAs);
    return undefined;
  }

  matching(name: string, pattern: RegExp, rule: string): string | undefined {
    const value = this.text(name);
    return value === undefined || pattern.test(value) ? value : this.refuse(name, rule);
  }

  integer(name: string, { min, max }: { min: number; max: number }): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    return number >= min && number <= max ? number : this.refuse(name, `must be a whole number from ${min} to ${max}`);
  }

  /** 0 takes any free port. */
  port(name: string): number | undefined {
    // A Kubernetes service of a matching name sets these variables to an address such as tcp://10.0.0.1:80.
    if (serviceAddress.test(this.text(name) ?? ''))
      return this.refuse(name, 'set by a Kubernetes service link, not by you; add enableServiceLinks: false to pods');
    return this.integer(name, { min: 0, max: 65_535 });
  }

  /** Where a server listens; by default at this machine alone. */
  host(name: string): string {
    return this.matching(name, /^[A-Za-z0-9.:_-]{1,253}$/, 'must be a host name or an IP address') ?? '127.0.0.1';
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    return values.find((known) => known === value) ?? this.refuse(name, `must be one of ${values.join(', ')}`);
  }

  baseUrl(name: string): string | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const url = BaseUrl.safeParse(value);
    return url.success ? url.data : this.refuse(name, url.error.issues[0]?.message ?? 'must be a URL');
  }

  /** Entries separated by commas, blanks around them dropped. `problemOf` says what is wrong with one, which is named by its place. */
  list(name: string, problemOf: (entry: string) => string | null): string[] | undefined {
    const entries = this.text(name)
      ?.split(',')
      .map((entry) => entry.trim());
    for (const [index, entry] of entries?.entries() ?? []) {
      const problem = problemOf(entry);
      if (problem !== null) this.refuse(name, `entry ${index + 1} ${problem}`);
    }
    return entries;
  }

  /** A secret stands in a variable, or in the file that `<name>_FILE` names; `setBy` is the one of the two to blame. */
  secret(name: string): { value: string; setBy: string } | undefined {
    const fileSetting = `${name}_FILE`;
    const value = this.text(name);
    const path = this.text(fileSetting);
    if (path === undefined) return value === undefined ? undefined : { value, setBy: name };
    if (value !== undefined) return this.refuse(name, `set together with ${fileSetting}; keep one of them`);
    const kept = this.secretFile(fileSetting, path);
    return kept === undefined ? undefined : { value: kept, setBy: fileSetting };
  }

  isSecretSet(name: string): boolean {
    return [name, `${name}_FILE`].map((one) => this.text(one)).some((value) => value !== undefined);
  }

  /**
   * The keys of a variable, or of the file that `<name>_FILE` names. A key has one purpose: a setting that shares one with a setting read
   * before is refused, or the holders of one list could use the other.
   */
  keyRing(name: string, form?: KeyForm): KeyRing | null {
    const found = this.secret(name);
    if (found === undefined) return null;
    const { setBy, value } = found;
    const parsed = parseKeyRing(value, form);
    if ('problems' in parsed) {
      for (const problem of parsed.problems) this.refuse(setBy, problem);
      return null;
    }
    const other = this.#rings.find(({ ring }) => sharesKey(ring, parsed.ring));
    if (other) this.refuse(setBy, `holds a key of ${other.setBy}; make its own with: ${keyRecipe}`);
    this.#rings.push({ setBy, ring: parsed.ring });
    return parsed.ring;
  }

  /** `FARETRAIL_PAYLOAD_KEYS` and `FARETRAIL_ENCRYPT_PAYLOADS`. Keys alone only decrypt, so that they can be given to all first. */
  payloadEncryption(): PayloadEncryption {
    const name = 'FARETRAIL_PAYLOAD_KEYS';
    const keys = this.keyRing(name);
    const encrypts = this.oneOf('FARETRAIL_ENCRYPT_PAYLOADS', ['true', 'false']) === 'true';
    if (encrypts && !this.isSecretSet(name)) this.refuse(name, `missing; make one with: ${keyRecipe}`);
    return Object.freeze({ keys, encrypts });
  }

  /** A secret kept in a file: one newline at its end is an editor's, not part of the secret. */
  secretFile(name: string, path: string): string | undefined {
    const kept = this.textFile(name, path)?.replace(/\r?\n$/, '');
    if (kept === '') return this.refuse(name, 'the file is empty; put the secret in it');
    const stray = kept === undefined ? null : strayIn(kept);
    return stray === null ? kept : this.refuse(name, `the secret in the file ${stray}`);
  }

  /** The JSON in the file that a variable names. */
  jsonFile(name: string): { json: unknown } | undefined {
    const path = this.text(name);
    const content = path === undefined ? undefined : this.textFile(name, path);
    if (content === undefined) return undefined;
    try {
      return { json: readJson(content) };
    } catch {
      return this.refuse(name, 'the file is not valid JSON; check it with a JSON linter');
    }
  }

  /** The text of a file. The path stays out of the problem: a secret may stand there by mistake. */
  textFile(name: string, path: string): string | undefined {
    try {
      return this.#readFile(path);
    } catch (error) {
      if (error instanceof InvalidInput) return this.refuse(name, error.message);
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      return this.refuse(name, `the file cannot be read${code}; check its path and permissions`);
    }
  }

  /** Refuses each variable that begins with `FARETRAIL_` and that was not looked up so far: a misspelt setting is a silent default. */
  refuseUnknown(known: ReadonlySet<string>): void {
    for (const [name, value] of Object.entries(this.#env)) {
      const isServiceLink = serviceLink.test(name) || (name.endsWith('_PORT') && serviceAddress.test(value ?? ''));
      if (!value || !name.startsWith('FARETRAIL_') || isServiceLink) continue;
      if (foreign.test(name) || this.#names.has(name) || known.has(name)) continue;
      this.refuse(
        name,
        'not a setting; correct it (docs/reference/settings.md) or unset it, or name it in FARETRAIL_ACCOUNTS_FILE as the place of a secret',
      );
    }
  }
}

/** Settings of the sandbox and of the tests are theirs to check. */
const foreign = /^FARETRAIL_(SANDBOX|TEST)_/;

/** Kubernetes adds these for every service whose name begins with "faretrail". */
const serviceLink = /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const serviceAddress = /^(tcp|udp|sctp):\/\//;
