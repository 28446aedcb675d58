import ipaddr from 'ipaddr.js';
import { Webhook } from 'standardwebhooks';
import type { Agent } from 'undici';
import {
  AddressNotAllowed,
  createGuardedAgent,
  defaultNotifyLimits,
  type Guard,
  maxReplyBytes,
  type NotifyLimits,
} from './guarded-agent.js';
import { receiverSecret } from './receiver-secret.js';

/** One change for one URL. */
export interface NotifyInput {
  url: string;
  /** The same at every attempt, so that a receiver recognises what it has seen. Sent as the header `webhook-id`. */
  id: string;
  /** Sent as JSON. */
  event: object;
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
/** ... and at these addresses within the ranges. */
const metadataAddresses: readonly string[] = ['fd00:ec2::254', 'fd20:ce::254', '100.100.100.200'];

/** May this IP address be called? `unicast` is what is left of all addresses when the special ranges are taken away. */
export function isCallableAddress(address: string, { allowsPrivate }: { allowsPrivate: boolean }): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address); // of an IPv4 address in IPv6 clothes: the IPv4 address
  const range = parsed.range();
  if (range === 'unicast') return true;
  return allowsPrivate && privateRanges.includes(range) && !metadataAddresses.includes(parsed.toString());
}

/** Whom to call, and with which secrets. */
export interface NotifySenderOptions {
  /** Such as `https://orders.example.com`. */
  origins: readonly string[];
  /** One URL more, whose origin callers may not name. */
  operatorUrl?: string | null;
  /** Each origin has secrets of its own made from these. All sign; a receiver needs one. */
  secrets: readonly Uint8Array[];
  allowsPrivate: boolean;
  limits?: Partial<NotifyLimits>;
  lookUp?: Guard['lookUp'];
  now?: () => number;
}

/** Sends signed requests (Standard Webhooks 1.0). */
export type NotifySender = ReturnType<typeof createNotifySender>;

/** Makes the sender. It repeats nothing and follows no redirect. */
export function createNotifySender(options: NotifySenderOptions) {
  const { origins, operatorUrl = null, secrets, allowsPrivate, lookUp, now = Date.now } = options;
  const limits = { ...defaultNotifyLimits, ...options.limits };
  const allows = (address: string) => isCallableAddress(address, { allowsPrivate });
  const agent = createGuardedAgent({ allows, ...(lookUp && { lookUp }) }, limits);
  const allowed = operatorUrl === null ? origins : [...origins, operatorUrl];
  const signs = new Map(allowed.map((one) => [one, createSignature(new URL(one).origin, secrets)]));
  const underWay = new Map<string, number>();
  let inAll = 0;

  function count(origin: string, change: 1 | -1): void {
    inAll += change;
    underWay.set(origin, (underWay.get(origin) ?? 0) + change);
    if (underWay.get(origin) === 0) underWay.delete(origin);
  }

  return {
    async send({ url, id, event, traceparent }: NotifyInput): Promise<NotifyOutcome> {
      const target = new URL(url);
      const sign = signs.get(target.origin) ?? signs.get(url);
      if (!sign) return { kind: 'originNotAllowed' };
      // A receiver that hangs must not take all the places of this worker.
      if (inAll >= limits.inAll || (underWay.get(target.origin) ?? 0) >= limits.perOrigin) return { kind: 'busy' };
      const body = JSON.stringify(event);
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'faretrail',
        ...(traceparent !== undefined && { traceparent }),
        ...sign(id, new Date(now()), body),
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
