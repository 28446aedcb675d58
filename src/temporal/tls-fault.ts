import { isIP } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import type { TLSConfig } from '@temporalio/client';

/** The target of a connection, as Temporal's client takes it. */
export interface TlsTarget {
  /** `host:port`. */
  address: string;
  tls?: TLSConfig | boolean | null | undefined;
}

const refused =
  'it refuses our client certificate, or wants one: check TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH';

// Node before 26 only warned, and so the client's library still shows the address as the name.
const nameless =
  'with Node 26 a client needs a name to connect over TLS, not an IP address: set TEMPORAL_TLS_SERVER_NAME to a name in its certificate, or give that name in TEMPORAL_ADDRESS';

/**
 * What to do, by the codes of Node and OpenSSL (https://nodejs.org/api/tls.html#x509-certificate-error-codes) and by the words of the SDK's
 * native library. A worker trusts the authorities of the system's CA file, not those that come with Node.
 */
const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /NativeCertsNotFound/,
    'this system has no CA file, which a worker needs: install the package ca-certificates, or name such a file in SSL_CERT_FILE or TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  ],
  [
    /UnknownIssuer|SELF_SIGNED|^UNABLE_TO_|^CERT_SIGNATURE/,
    'its certificate is of no authority that is trusted here: check TEMPORAL_TLS_SERVER_CA_CERT_PATH, or where that is unset, for a worker, the CA file of this system (SSL_CERT_FILE)',
  ],
  [
    /NotValidForName|ALTNAME_INVALID/,
    'its certificate is for another name: check TEMPORAL_ADDRESS and TEMPORAL_TLS_SERVER_NAME',
  ],
  [
    /InvalidCertificate\((Expired|NotValidYet)|^CERT_(HAS_EXPIRED|NOT_YET_VALID)/,
    'its certificate is not valid at this time: have it renewed, or set the clock',
  ],
  [/WRONG_VERSION/, 'it does not speak TLS: check TEMPORAL_ADDRESS, or unset TEMPORAL_TLS and TEMPORAL_API_KEY'],
  [/ALERT_(\w+_)?(CERTIFICATE|CERT|CA)/, refused],
];

const remedyOf = (said: string): string | undefined => remedies.find(([form]) => form.test(said))?.[1];

/**
 * Why the TLS connection failed, with the setting to check; undefined without TLS, and for any other reason. Where `cause` gives no
 * reason, this opens a connection of its own to find out.
 */
export function findTlsFault(
  { address, tls }: TlsTarget,
  cause: unknown,
  withinMs = 3_000,
): Promise<string | undefined> {
  if (!tls) return Promise.resolve(undefined);
  const known = cause instanceof Error ? remedyOf(cause.message) : undefined;
  if (known !== undefined) return Promise.resolve(known);
  return new Promise((resolve) => {
    const options = toOptions(address, tls === true ? {} : tls);
    const isNameMissing = options.servername === undefined && Number.parseInt(process.versions.node, 10) >= 26;
    const socket = connect(options);
    let isGreeted = false;
    const tell = (fault: string | undefined): void => {
      resolve(fault);
      socket.destroy();
    };
    socket.setTimeout(withinMs, () => tell(undefined));
    socket.on('secureConnect', () => {
      isGreeted = true;
    });
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) =>
      tell(remedyOf(code) ?? (isGreeted ? refused : undefined)),
    );
    // With TLS 1.3 a server checks our certificate after the handshake has ended on our side: then it sends data, or it closes.
    socket.on('data', () => tell(isNameMissing ? nameless : undefined));
    socket.on('end', () => tell(isGreeted ? refused : undefined));
  });
}

function toOptions(address: string, tls: TLSConfig): ConnectionOptions {
  const { hostname, port } = new URL(`tcp://${address}`);
  const host = hostname.replace(/^\[|\]$/g, '');
  const servername = tls.serverNameOverride ?? host;
  const { serverRootCACertificate: ca, clientCertPair } = tls;
  return {
    host,
    port: Number(port),
    ALPNProtocols: ['h2'],
    ...(isIP(servername) ? {} : { servername }),
    ...(ca ? { ca: Buffer.from(ca) } : {}),
    ...(clientCertPair ? { cert: Buffer.from(clientCertPair.crt), key: Buffer.from(clientCertPair.key) } : {}),
  };
}
