import { hkdfSync } from 'node:crypto';
import { lookup as lookUpName } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Webhook } from 'standardwebhooks';
import { Agent, buildConnector, errors } from 'undici';
import { userAgent } from '../version.js';

/** One change for one URL. */
export interface NotifyInput {
  url: string;
  /** The same at every attempt, so that a receiver recognises what it has seen. Sent as the header `webhook-id`. */
  id: string;
  /** Sent as JSON. */
  event: object;
  /** The instant that is signed, in epoch milliseconds: receivers compare it with their clock. */
  at: number;
  /** Of the trace that the receiver may continue (W3C Trace Context). */
  traceparent?: string;
}

/** What became of one request. */
export type NotifyOutcome =
  | { kind: 'answered'; status: number; retryAfter: string | undefined }
  /** No answer; a short code of the network says why. */
  | { kind: 'unreachable'; code: string }
  | { kind: 'originNotAllowed' }
  | { kind: 'addressNotAllowed' }
  /** Too many requests of this process are under way; nothing was sent. */
  | { kind: 'busy' };

/** Ranges of networks that are somebody's own. Link-local stays out: cloud providers keep credentials of machines there ... */
const privateRanges: readonly string[] = ['private', 'uniqueLocal', 'loopback', 'carrierGradeNat'];
/** ... and at these, within the ranges or public: Azure, AWS, Google, Alibaba. */
const metadataNetworks = ['168.63.129.16/32', 'fd00:ec2::/32', 'fd20:ce::254/128', '100.100.100.200/32'].map((text) =>
  ipaddr.parseCIDR(text),
);
/** All public IPv6 addresses (https://www.iana.org/assignments/ipv6-address-space); `ipaddr.js` knows no IPv4 in `::/96`. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

const isWithin = (address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: [ipaddr.IPv4 | ipaddr.IPv6, number]): boolean =>
  address.kind() === network.kind() && address.match(network, bits);

/** May this IP address be called? `unicast` is what is left of all addresses when the special ranges are taken away. */
export function isCallableAddress(address: string, { allowsPrivate }: { allowsPrivate: boolean }): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address); // of an IPv4-mapped IPv6 address: the IPv4 address
  if (metadataNetworks.some((network) => isWithin(parsed, network))) return false;
  const range = parsed.range();
  if (range === 'unicast') return parsed.kind() === 'ipv4' || isWithin(parsed, globalUnicast);
  return allowsPrivate && privateRanges.includes(range);
}

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

/** The time and space of one request, unless a caller sets other limits. */
export const defaultNotifyLimits = {
  /** Until TCP and TLS stand. */
  connectMs: 5_000,
  /** For all of a request until the head of the answer. */
  totalMs: 15_000,
  /** Open connections per origin, and requests of this process under way to one. */
  perOrigin: 16,
  /** Requests of this process under way to all of them: the rest of its activities, such as token requests, go on. */
  inAll: 48,
};
type NotifyLimits = typeof defaultNotifyLimits;

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

/** Whom to call, and with which secrets. */
export interface NotifySenderOptions {
  /** Such as `https://orders.example.com`. */
  origins: readonly string[];
  /** Each origin has secrets of its own made from these. All sign; a receiver needs one. */
  secrets: readonly Uint8Array[];
  allowsPrivate: boolean;
  limits?: Partial<NotifyLimits>;
  lookUp?: Guard['lookUp'];
}

/** Sends signed requests (Standard Webhooks 1.0). */
export type NotifySender = ReturnType<typeof createNotifySender>;

/** Makes the sender. It repeats nothing and follows no redirect. */
export function createNotifySender(options: NotifySenderOptions) {
  const { origins, secrets, allowsPrivate, lookUp } = options;
  const limits = { ...defaultNotifyLimits, ...options.limits };
  const allows = (address: string) => isCallableAddress(address, { allowsPrivate });
  const agent = createGuardedAgent({ allows, ...(lookUp && { lookUp }) }, limits);
  const signs = new Map(origins.map((origin) => [origin, createSignature(origin, secrets)]));
  const underWay = new Map<string, number>();
  let inAll = 0;

  function count(origin: string, change: 1 | -1): void {
    inAll += change;
    underWay.set(origin, (underWay.get(origin) ?? 0) + change);
    if (underWay.get(origin) === 0) underWay.delete(origin);
  }

  return {
    async send({ url, id, event, at, traceparent }: NotifyInput): Promise<NotifyOutcome> {
      const target = new URL(url);
      const sign = signs.get(target.origin);
      if (!sign) return { kind: 'originNotAllowed' };
      // A receiver that hangs must not take all the places of this worker.
      if (inAll >= limits.inAll || (underWay.get(target.origin) ?? 0) >= limits.perOrigin) return { kind: 'busy' };
      const body = JSON.stringify(event);
      const headers = {
        'content-type': 'application/json',
        'user-agent': userAgent,
        ...(traceparent !== undefined && { traceparent }),
        ...sign(id, new Date(at), body),
      };
      count(target.origin, 1);
      try {
        return await post(agent, target, { headers, body, totalMs: limits.totalMs });
      } finally {
        count(target.origin, -1);
      }
    },
    /** Lets requests under way end, then closes the connections. */
    close: (): Promise<void> => agent.close(),
  };
}

/** The headers of a notice that prove where it comes from (Standard Webhooks 1.0). */
export const signatureHeaders = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
} as const;

/**
 * The secret by which one receiver verifies notices. Who holds it can neither sign for another origin nor work out
 * `secret`. `origin` as `URL` writes it. HKDF of RFC 5869 with SHA-256.
 */
export const receiverSecret = (secret: Uint8Array, origin: string): Uint8Array =>
  Buffer.from(hkdfSync('sha256', secret, '', `faretrail notify ${origin}`, 32));

/** The form that the libraries of Standard Webhooks take. */
export const toWebhookSecret = (secret: Uint8Array): string => `whsec_${Buffer.from(secret).toString('base64')}`;

/** One signature for each secret: while secrets change, receivers have the old one or the new one. */
function createSignature(origin: string, secrets: readonly Uint8Array[]) {
  const webhooks = secrets.map((secret) => new Webhook(receiverSecret(secret, origin), { format: 'raw' }));
  return (id: string, at: Date, body: string): Record<string, string> => ({
    [signatureHeaders.id]: id,
    [signatureHeaders.timestamp]: String(Math.floor(at.getTime() / 1_000)),
    [signatureHeaders.signature]: webhooks.map((webhook) => webhook.sign(id, at, body)).join(' '),
  });
}

interface Post {
  headers: Record<string, string>;
  body: string;
  totalMs: number;
}

async function post(agent: Agent, url: URL, { headers, body, totalMs }: Post): Promise<NotifyOutcome> {
  const signal = AbortSignal.timeout(totalMs);
  const timedOut = new Promise<NotifyOutcome>((resolve) => {
    signal.addEventListener('abort', () => resolve({ kind: 'unreachable', code: 'TIMEOUT' }), { once: true });
  });
  const target = { origin: url.origin, path: `${url.pathname}${url.search}`, method: 'POST' as const, headers, body };
  const answer = agent.request({ ...target, signal }).then(
    (reply): NotifyOutcome => {
      // The body does not matter; a short one is read so that the connection can be used again.
      reply.body.dump({ limit: maxReplyBytes, signal }).catch(() => undefined);
      const retryAfter = [reply.headers['retry-after']].flat()[0];
      return { kind: 'answered', status: reply.statusCode, retryAfter };
    },
    (error: unknown): NotifyOutcome => toOutcome(error),
  );
  // A race, since undici heeds a signal only once the request has a connection.
  return await Promise.race([answer, timedOut]);
}

/** Only the code word of an error is kept: its text may hold the URL. */
function toOutcome(error: unknown): NotifyOutcome {
  if (error instanceof AddressNotAllowed) return { kind: 'addressNotAllowed' };
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return { kind: 'unreachable', code: typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'NETWORK' };
}
