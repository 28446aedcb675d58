import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { InvalidInput } from '../domain/errors.js';

// TLS to the store. The `sslmode` of an address means what it means to libpq and psql (https://www.postgresql.org/docs/current/libpq-ssl.html);
// the library gives these words another meaning.

/** A way to reach the server. */
export interface Way {
  /** Without what is about TLS. */
  address: string;
  /** Reads the files that the address names. Throws `InvalidInput`. */
  ssl(): false | ConnectionOptions;
  /** What it protects. */
  said: string;
  /** No other server can pass for this one. */
  isSafe: boolean;
}

/** The ways that an address allows, in the order in which to try them. Throws `InvalidInput` that names the parameter. */
export function waysTo(text: string): Way[] {
  const [place = '', query] = text.split('?'); // not by URL, which would spell a password in another way
  const parameters = new URLSearchParams(query);
  const given = (name: string): string | undefined => {
    const value = parameters.get(name) || undefined;
    parameters.delete(name);
    return value;
  };
  const [root, cert, key] = [given('sslrootcert'), given('sslcert'), given('sslkey')];
  given('sslnegotiation'); // a matter of speed; with it the library takes its own way of TLS
  const ofDrivers = given('ssl') === 'true' ? 'require' : undefined; // libpq takes it as well
  const mode = given('sslmode') ?? ofDrivers ?? (root === 'system' ? 'verify-full' : 'prefer');
  const address = parameters.size > 0 ? `${place}?${parameters}` : place;
  const own = () => ({ ...pem('cert', 'sslcert', cert), ...pem('key', 'sslkey', key) });
  const checked = () => ({ ...own(), ...(root === 'system' ? {} : pem('ca', 'sslrootcert', root)) });
  const unsafe = { address, isSafe: false };
  const clear: Way = { ...unsafe, said: 'in clear', ssl: () => false };
  const unchecked: Way = {
    ...{ ...unsafe, said: 'over TLS, and its certificate is not checked' },
    ssl: () => ({ ...own(), rejectUnauthorized: false }),
  };
  const byAuthority: Way = {
    ...{ ...unsafe, said: 'over TLS, and the name in its certificate is not checked' },
    ssl: () => ({ ...checked(), checkServerIdentity: () => undefined }),
  };
  const byName: Way = { address, isSafe: true, said: 'over TLS, and its certificate is checked', ssl: checked };
  const modes: Readonly<Record<string, Way[]>> = {
    disable: [clear],
    allow: [clear, unchecked],
    prefer: [unchecked, clear],
    require: [root === undefined ? unchecked : byAuthority],
    'no-verify': [unchecked], // the library's own word
    'verify-ca': [byAuthority],
    'verify-full': [byName],
  };
  const ways = Object.hasOwn(modes, mode) ? modes[mode] : undefined;
  if (!ways) throw new InvalidInput('sslmode: must be disable, allow, prefer, require, verify-ca or verify-full');
  if (mode === 'verify-ca' && root === undefined)
    throw new InvalidInput('sslrootcert: missing; verify-ca takes every name, so it needs an authority of your own');
  if (root === 'system' && ways[0] !== byName)
    throw new InvalidInput('sslrootcert: system needs sslmode=verify-full, since anyone has a certificate of these');
  return ways;
}

/** What the file of a parameter holds, as an option of TLS. */
function pem(option: 'ca' | 'cert' | 'key', name: string, file: string | undefined): ConnectionOptions {
  if (file === undefined) return {};
  try {
    return { [option]: readFileSync(file, 'utf8') };
  } catch (error) {
    throw new InvalidInput(`${name}: the file cannot be read`, { cause: error });
  }
}
