import type { JsonFlaw } from '../contracts/json.js';
import type { AttentionCode } from '../domain/attention.js';
import type { Sent } from '../domain/call.js';
import { FaretrailError, InvalidInput } from '../domain/errors.js';
import type { OrderId } from '../domain/keys.js';

// None of these carries a `cause`: undici's and Node's errors may hold a URL, response bytes or a piece of a body.

/** What an answer says besides its status: a short code word and the id to quote to upstream's support. */
export interface UpstreamWords {
  upstreamCode: string | null;
  requestId: string | null;
  /** Names and code words of the fields that it calls wrong. */
  upstreamFields?: readonly string[];
  /** Upstream's own message, for the caller whose request it refuses; in no error text. */
  upstreamMessage?: string | null;
}

/** Why upstream said no. */
export type RideApiErrorCode =
  | 'BAD_REQUEST' // 400
  | 'TOKEN_REJECTED' // 401 of any call but the token call
  | 'PAYMENT_REQUIRED' // 402
  | 'FORBIDDEN' // 403
  | 'NOT_FOUND' // 404
  | 'ORDER_UNKNOWN' // 404 of a call about one order
  | 'UNPROCESSABLE' // 422
  | 'REFUSED' // any other 4xx
  | 'RATE_LIMITED' // 429, and a 403 that is meant so
  | 'UPSTREAM_FAILED' // 5xx
  | 'REDIRECTED' // 3xx: never followed, since the token would travel along
  | 'ERROR_IN_SUCCESS' // a success code over an error envelope
  | 'UNEXPECTED_STATUS'; // a success code that the profile does not list for the operation

/** Upstream answered and said no. Carries the status, never the body, which may hold a phone number.
 *  Not for a connection that failed (`RideApiUnreachable`), an unreadable answer (`RideApiGarbled`, `UnusableReply`)
 *  or a refused token request (`TokenRefused`). */
export class RideApiError extends FaretrailError<RideApiErrorCode> {
  override readonly name = 'RideApiError';
  readonly status: number;
  readonly upstreamCode: string | null;
  readonly upstreamFields: readonly string[];
  /** For the caller whose call it was; null unless that call keeps it. */
  readonly upstreamMessage: string | null;
  /** May the same request succeed later by itself? Not after a 401, which needs a new token. */
  readonly retryable: boolean;
  /** The wait that the service asked for; undefined leaves it to the retry policy. */
  readonly retryAfterMs: number | undefined;
  /** An order that the answer to a create named. */
  readonly namedOrderId: OrderId | undefined;

  constructor(
    code: RideApiErrorCode,
    status: number,
    words: UpstreamWords,
    retryAfterMs?: number,
    namedOrderId?: OrderId,
  ) {
    super(code, `upstream refused: ${code} (${inBrief(status, words)})`);
    this.status = status;
    this.upstreamCode = words.upstreamCode;
    this.upstreamFields = words.upstreamFields ?? [];
    this.upstreamMessage = words.upstreamMessage ?? null;
    this.retryable = code === 'RATE_LIMITED' || code === 'UPSTREAM_FAILED';
    this.retryAfterMs = this.retryable ? retryAfterMs : undefined;
    this.namedOrderId = namedOrderId;
  }
}

/** Where the way to an answer broke off. */
export type UnreachableCode =
  | 'NO_CONNECTION' // before a byte of the request was sent
  | 'CONNECTION_LOST' // after that, as far as we know
  | 'TOTAL_TIMEOUT'; // after that, at our deadline for all of it

/** What a person can do about a certificate, by Node's code (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
export const certificateRemedy = (systemCode: string): string =>
  /SELF_SIGNED|UNABLE_TO_|CERT_SIGNATURE/.test(systemCode)
    ? '; its certificate is of no authority that is trusted here: name the file of its root in NODE_EXTRA_CA_CERTS'
    : '';

/** The same about a proxy, by the codes of `proxy.ts`. */
function proxyRemedy(systemCode: string): string {
  const [isProxy, status] = /^PROXY_(\d*)/.exec(systemCode) ?? [];
  const isSignIn = status === '407' || status === '401'; // the second is tinyproxy's word for a wrong password
  if (isSignIn) return `; the proxy answered ${status}: check user and password in HTTPS_PROXY`;
  if (status) return `; the proxy answered ${status}: it must allow and reach this address, or NO_PROXY must name it`;
  return isProxy ? '; the proxy gives no answer: check HTTPS_PROXY' : '';
}

/** No complete answer came: `effectOf` says what that means for a changing call; a read can be repeated.
 *  `systemCode` is the code of Node or undici, which tells people why. Not thrown when the caller aborted: that is its own reason. */
export class RideApiUnreachable extends FaretrailError<UnreachableCode> {
  override readonly name = 'RideApiUnreachable';
  readonly systemCode: string | null;

  constructor(code: UnreachableCode, origin: string, systemCode: string | null = null) {
    const why =
      systemCode === null ? '' : ` (${systemCode})${certificateRemedy(systemCode) || proxyRemedy(systemCode)}`;
    super(code, `no answer from ${origin}: ${code}${why}`);
    this.systemCode = systemCode;
  }
}

/** What was wrong with the bytes that came. */
export type GarbledCode =
  | 'NOT_JSON' // a success whose body is something else
  | JsonFlaw // a success whose JSON can be read in more than one way
  | 'TOO_LARGE' // a success beyond the size cap, as it came or unpacked
  | 'ENCODING' // a success that is packed in a way we do not know, or whose packed bytes are damaged
  | 'NOT_HTTP'; // bytes that are no HTTP answer

/** Something answered, but not in the agreed language; whether a changing call was carried out is unknown.
 *  Not for JSON without the expected fields (`UnusableReply`). `status` is null when there was none to read. */
export class RideApiGarbled extends FaretrailError<GarbledCode> {
  override readonly name = 'RideApiGarbled';
  readonly status: number | null;

  constructor(code: GarbledCode, origin: string, status: number | null) {
    super(code, `unreadable answer from ${origin}: ${code}${status === null ? '' : ` (HTTP ${status})`}`);
    this.status = status;
  }
}

/** The order was not sent, since its quote would have been too old at that moment. */
export class QuoteTooOld extends FaretrailError<'QUOTE_TOO_OLD'> {
  override readonly name = 'QuoteTooOld';

  constructor() {
    super('QUOTE_TOO_OLD', 'not sent, since its quote became too old; another attempt gets a new one');
  }
}

/** The refusals of a token endpoint, in the words that a run shows as its attention. */
export type TokenRefusedCode = Extract<AttentionCode, 'credentialsRejected' | 'scopeRejected' | 'grantRejected'>;

const remedies: Record<TokenRefusedCode, string> = {
  credentialsRejected: "check the account's client id and client secret.",
  scopeRejected: 'check the scopes granted to the client, and operations.<name>.scope in the contract profile.',
  grantRejected:
    'the token request is not accepted as we send it; check `tokens` in the contract profile: businessEncoding can be urlencoded, multipart or json.',
};

/** The token endpoint said no, for a reason that only a person can repair.
 *  Not for its rate limit, failure or absence, which pass (`RideApiError`, `RideApiUnreachable`). */
export class TokenRefused extends FaretrailError<TokenRefusedCode> {
  override readonly name = 'TokenRefused';
  readonly status: number;
  readonly upstreamCode: string | null;

  constructor(code: TokenRefusedCode, status: number, words: UpstreamWords) {
    super(code, `no token: ${code} (${inBrief(status, words)}); ${remedies[code]}`);
    this.status = status;
    this.upstreamCode = words.upstreamCode;
  }
}

function inBrief(status: number, { upstreamCode, upstreamFields = [], requestId }: UpstreamWords): string {
  const fields = upstreamFields.length === 0 ? null : `about ${upstreamFields.join(' ')}`;
  const parts = [`HTTP ${status}`, upstreamCode, fields, requestId === null ? null : `request ${requestId}`];
  return parts.filter((part) => part !== null).join(', ');
}

/**
 * The effect that a changing call may have had although it failed like this. A refusal is assumed to have none, but for
 * the answers listed here. `mustBeOnce`: a repeat would make a second order.
 */
export function effectOf(error: unknown, mustBeOnce = false): Sent {
  if (error instanceof InvalidInput || error instanceof QuoteTooOld) return 'no'; // no request was made of it
  if (error instanceof RideApiUnreachable && error.code === 'NO_CONNECTION') return 'no';
  if (!(error instanceof RideApiError)) return 'unknown';
  if (error.namedOrderId !== undefined) return 'unknown'; // the order that it names may be ours
  switch (error.code) {
    case 'UNEXPECTED_STATUS':
    case 'UPSTREAM_FAILED': // a 503 says no (RFC 9110 section 15.6.4), but a proxy may send it after the service took the call
      return 'unknown';
    case 'ERROR_IN_SUCCESS': // words of an error under a success: the service may have made the order (assumed)
      return mustBeOnce ? 'unknown' : 'no';
    case 'REDIRECTED': // "see there", at the order that the service made (assumed)
      return mustBeOnce && error.status === 303 ? 'unknown' : 'no';
    default:
      return 'no';
  }
}
