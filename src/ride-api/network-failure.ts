import { type buildConnector, errors } from 'undici';
import { InvalidInput } from '../domain/errors.js';
import { RideApiGarbled, RideApiUnreachable, type UnreachableCode } from './errors.js';

/** No connection came about. */
const unsentBySystemCode: Record<string, UnreachableCode> = {
  UND_ERR_CONNECT_TIMEOUT: 'CONNECT_TIMEOUT',
  ETIMEDOUT: 'CONNECT_TIMEOUT',
  ECONNREFUSED: 'CONNECTION_REFUSED',
  ENOTFOUND: 'DNS',
  EAI_AGAIN: 'DNS',
};

const unreachableBySystemCode: Record<string, UnreachableCode> = {
  ETIMEDOUT: 'CONNECTION_LOST',
  UND_ERR_HEADERS_TIMEOUT: 'HEADERS_TIMEOUT',
  UND_ERR_BODY_TIMEOUT: 'BODY_TIMEOUT',
  UND_ERR_SOCKET: 'CONNECTION_LOST',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'CONNECTION_LOST',
  ECONNRESET: 'CONNECTION_LOST',
  EPIPE: 'CONNECTION_LOST',
  UND_ERR_CLOSED: 'CLOSED',
  UND_ERR_DESTROYED: 'CLOSED',
};

// OpenSSL's names for a certificate it does not accept have no common prefix.
const tlsCode = /^(ERR_SSL|ERR_TLS|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/;

function systemCodeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_/]{1,64}$/.test(code) ? code : 'UNKNOWN';
}

const unsent = new WeakSet<object>();

/** Makes connections. A failure to make one is told from the same failure during a request, after which the outcome is unclear. */
export const notingUnsent =
  (connect: buildConnector.connector): buildConnector.connector =>
  (target, done) =>
    connect(target, (...made) => {
      if (made[0] !== null) unsent.add(made[0]);
      done(...made);
    });

function unreachableCode(systemCode: string, isUnsent: boolean): UnreachableCode {
  if (isUnsent) return unsentBySystemCode[systemCode] ?? (tlsCode.test(systemCode) ? 'TLS' : 'NO_CONNECTION');
  return unreachableBySystemCode[systemCode] ?? (tlsCode.test(systemCode) ? 'CONNECTION_LOST' : 'NETWORK');
}

/** An error of undici or Node in our words. Nothing but its code word is kept. */
export function toNetworkError(error: unknown, origin: string): Error {
  const systemCode = systemCodeOf(error);
  if (systemCode === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return new RideApiGarbled('TOO_LARGE', origin, null);
  // By class: undici 7.30 leaves the code of a parser error empty.
  if (error instanceof errors.HTTPParserError || systemCode === 'UND_ERR_HEADERS_OVERFLOW') {
    return new RideApiGarbled('NOT_HTTP', origin, null);
  }
  if (systemCode === 'UND_ERR_INVALID_ARG') {
    return new InvalidInput(`request to ${origin}: its path or a header holds characters that cannot be sent`);
  }
  const code = unreachableCode(systemCode, unsent.has(error as object));
  return new RideApiUnreachable(code, origin, systemCode);
}
