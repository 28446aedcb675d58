import { InvalidInput } from '../domain/errors.js';

/** A way to reach the server. */
export interface Way {
  /** With parameters that have the library take this way. */
  address: string;
  /** What it protects. */
  said: string;
  /** No other server can pass for this one. */
  isSafe: boolean;
}

const meanings = {
  disable: 'in clear',
  prefer: 'over TLS, and its certificate is not checked',
  'verify-ca': 'over TLS, and the name in its certificate is not checked',
  'verify-full': 'over TLS, and its certificate is checked',
} as const;

/**
 * The ways that an address allows, in the order in which to try them: its `sslmode` means what it means to libpq and psql
 * (https://www.postgresql.org/docs/current/libpq-ssl.html). The library knows these words by `uselibpqcompat`, but tries one way alone, and
 * has neither the default, `allow` nor `sslrootcert=system`. Throws `InvalidInput` that names the parameter.
 */
export function waysTo(text: string): Way[] {
  const given = new URLSearchParams(text.split('?')[1]);
  const root = given.get('sslrootcert');
  const ofDrivers = given.get('ssl') === 'true' ? 'require' : undefined; // libpq takes it as well
  const mode = given.get('sslmode') || ofDrivers || (root === 'system' ? 'verify-full' : 'prefer');
  const modes: Readonly<Record<string, (keyof typeof meanings)[]>> = {
    disable: ['disable'],
    allow: ['disable', 'prefer'],
    prefer: ['prefer', 'disable'],
    require: [root ? 'verify-ca' : 'prefer'],
    'no-verify': ['prefer'], // the library's own word
    'verify-ca': ['verify-ca'],
    'verify-full': ['verify-full'],
  };
  const ways = Object.hasOwn(modes, mode) ? modes[mode] : undefined;
  if (!ways) throw new InvalidInput('sslmode: must be disable, allow, prefer, require, verify-ca or verify-full');
  if (mode === 'verify-ca' && !root)
    throw new InvalidInput('sslrootcert: missing; verify-ca takes every name, so it needs an authority of your own');
  if (root === 'system' && mode !== 'verify-full')
    throw new InvalidInput('sslrootcert: system needs sslmode=verify-full, since anyone has a certificate of these');
  return ways.map((sslmode) => {
    // The last of a name counts. The rest of the text stays as it is: spelt in another way it might hold another password.
    const own = `uselibpqcompat=true&sslnegotiation=postgres&sslmode=${sslmode}`;
    const unread = sslmode.startsWith('verify') && root !== 'system' ? '' : '&sslrootcert=';
    const address = `${text}${text.includes('?') ? '&' : '?'}${own}${unread}`;
    return { address, said: meanings[sslmode], isSafe: sslmode === 'verify-full' };
  });
}
