import { lookup as lookUpName } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector, errors } from 'undici';

/** The name, or a number in a URL, stands for an address that may not be called. Not for one that cannot be found, and
 *  not for a connection that was lost. */
export class AddressNotAllowed extends Error {
  override readonly name = 'AddressNotAllowed';
  readonly code = 'ADDRESS_NOT_ALLOWED';
}

/** What connections may be made to. */
export interface Guard {
  allows(address: string): boolean;
  /** Tests put names of their own in its place. */
  lookUp?: typeof lookUpName;
}

/** The time and space of one request; settings so that tests take milliseconds. */
export interface NotifyLimits {
  /** Until TCP and TLS stand. */
  connectMs: number;
  /** For all of a request until the head of the answer. */
  totalMs: number;
  /** Open connections per origin, and requests of this process under way to one. */
  perOrigin: number;
  /** Requests of this process under way to all of them: the rest of its activities, such as token requests, go on. */
  inAll: number;
}

/** The limits in force unless a caller sets others. */
export const defaultNotifyLimits: NotifyLimits = { connectMs: 5_000, totalMs: 15_000, perOrigin: 16, inAll: 48 };

/** The body of an answer is not read beyond this. */
export const maxReplyBytes = 65_536;

/** Connects to addresses that `allows` only, whatever a name says at which moment. */
export function createGuardedAgent(guard: Guard, { connectMs, totalMs, perOrigin }: NotifyLimits): Agent {
  const { allows } = guard;
  const connect = buildConnector({
    lookup: guardedLookup(guard),
    timeout: connectMs,
    autoSelectFamilyAttemptTimeout: 1_000,
  });
  return new Agent({
    connect(options, callback) {
      const host = options.hostname.replace(/^\[|\]$/g, '');
      // A number in a URL never reaches `lookup`.
      if (isIP(host) && !allows(host)) return callback(new AddressNotAllowed(), null);
      connect(options, (...[error, socket]) => {
        if (error) return callback(error, null);
        const { remoteAddress } = socket;
        if (remoteAddress !== undefined && allows(remoteAddress)) return callback(null, socket);
        socket.destroy();
        // A socket that the receiver has reset meanwhile has no address any more.
        const isLost = remoteAddress === undefined;
        callback(isLost ? new errors.SocketError('the connection was lost') : new AddressNotAllowed(), null);
      });
    },
    connections: perOrigin,
    headersTimeout: totalMs,
    bodyTimeout: totalMs,
    maxResponseSize: maxReplyBytes,
  });
}

/** The socket gets the very addresses that were checked, so a name that changes its mind gains nothing. */
function guardedLookup({ allows, lookUp = lookUpName }: Guard): LookupFunction {
  return (hostname, options, callback) => {
    lookUp(hostname, { ...options, all: true }, (error, found) => {
      const [first] = found ?? [];
      if (error || !first) return callback(error ?? new Error('no address'), []);
      // One that is not allowed among others means that someone tampers with the name.
      if (!found.every(({ address }) => allows(address))) return callback(new AddressNotAllowed(), []);
      if (options.all) return callback(null, found);
      callback(null, first.address, first.family);
    });
  };
}
