import { type buildConnector, errors } from 'undici';
import { InvalidInput } from '../domain/errors.js';
import { RideApiGarbled, RideApiUnreachable } from './errors.js';

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
  return new RideApiUnreachable(unsent.has(error as object) ? 'NO_CONNECTION' : 'CONNECTION_LOST', origin, systemCode);
}
