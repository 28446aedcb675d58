import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Files with a certificate and its key, in PEM. */
export interface CertificateFiles {
  cert: string;
  key: string;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** A certificate authority that only this test trusts. */
export type TestAuthority = ReturnType<typeof createAuthority>;

/** Makes one with `openssl`; its files are gone when the process ends. */
export function createAuthority(name: string) {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-ca-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const file = (ending: string): string => join(folder, ending);
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  openssl('req', '-x509', ...newKey, '-days', '2', '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', `/CN=${name}`);

  function issue(subject: string, usage: string, names = 'DNS:localhost,IP:127.0.0.1'): CertificateFiles {
    writeFileSync(file(`${subject}.ext`), `subjectAltName=${names}\nextendedKeyUsage=${usage}\n`);
    openssl('req', '-new', ...newKey, '-keyout', `${subject}.key`, '-out', `${subject}.csr`, '-subj', `/CN=${subject}`);
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${subject}.ext`];
    openssl('x509', '-req', '-in', `${subject}.csr`, ...signed, '-out', `${subject}.pem`);
    return { cert: file(`${subject}.pem`), key: file(`${subject}.key`) };
  }

  return {
    /** The file of its own certificate. */
    ca: file('ca.pem'),
    /** Good for `localhost` and 127.0.0.1, or for these names as OpenSSL writes them. */
    server: (names?: string) => issue('server', 'serverAuth', names),
    client: () => issue('client', 'clientAuth'),
  };
}
