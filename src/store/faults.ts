import { UnfitDatabase } from './needs.js';

// What an error of the store asks for, by the code of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html), Node or
// OpenSSL. Texts of the libraries name hosts, users and databases, so none of them is shown where a process starts.

interface Fault {
  codes: RegExp;
  remedy: string;
  /** Does it last until somebody changes a setting or a right? */
  lasts: boolean;
}

const faults: readonly Fault[] = [
  { codes: /^ENOTFOUND$/, remedy: 'correct its host, which does not exist', lasts: true },
  {
    codes: /^25006$/,
    remedy: 'the server is read-only, as a standby is: name the one that takes writes',
    lasts: false, // it may take writes soon
  },
  {
    codes: /^42501$/,
    remedy:
      'its role must own the schema faretrail with all in it, or be allowed to create it in this database, or have select, insert, update and delete there, and usage and update of its sequences',
    lasts: true,
  },
  { codes: /^28/, remedy: 'check user and password, and what pg_hba.conf of the server demands', lasts: true },
  { codes: /^3D000$/, remedy: 'create this database, or name another', lasts: true },
  {
    codes: /^08P01$/,
    remedy: 'where a pooler stands before the server, it must take all parameters of the address',
    lasts: true,
  },
  {
    codes: /^(ENOENT|EACCES|EISDIR)$/,
    remedy: 'sslrootcert, sslcert and sslkey must name files that can be read here',
    lasts: true,
  },
  {
    codes: /^55P03$/,
    remedy: 'another process holds a lock, for example while it upgrades the tables: try again',
    lasts: false,
  },
  {
    codes: /CERT|ISSUER|SELF_SIGNED|^UNABLE_TO_/,
    remedy: 'name the authority of its certificate in sslrootcert, and the host as in the certificate',
    lasts: true,
  },
];

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'no answer in time';
const faultOf = (error: unknown): Fault | undefined => faults.find(({ codes }) => codes.test(codeOf(error)));

/** What to do about an error of the store. */
export const storeRemedy = (error: unknown): string => faultOf(error)?.remedy ?? 'check FARETRAIL_STORE_URL';

/** For the start of a process: one line about a store that is away, which may pass. Throws `UnfitDatabase` for what does not. */
export function awayText(error: unknown): string {
  if (error instanceof UnfitDatabase) throw error;
  const fault = faultOf(error);
  if (fault?.lasts) throw new UnfitDatabase({ lack: `it cannot be used (${codeOf(error)})`, remedy: fault.remedy });
  return `FARETRAIL_STORE_URL: no store answers there (${codeOf(error)}); ${fault?.remedy ?? 'it is tried again'}`;
}
