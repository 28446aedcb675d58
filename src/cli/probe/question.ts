import type { BodyShape } from '../../contracts/body-shape.js';
import type { ContractProfile, Operation } from '../../contracts/contract-profile.js';
import type { Account } from '../../domain/account.js';
import type { OrderId, Scope } from '../../domain/keys.js';
import type { ApiReply, ApiRequest } from '../../ride-api/http.js';
import type { Judgement } from './judging.js';

/** What the profile expects of one request. */
interface Expected {
  method: string;
  path: string;
  scope: string;
  /** The HTTP statuses that fit. */
  success: readonly number[];
  source: Operation['source'];
  pointers?: { status: readonly string[]; orderId: readonly string[] };
}

/** One question to the service, what the profile expects, what came, and what that says. */
export interface Finding extends Judgement {
  asks: string;
  expected: Expected;
  /** The HTTP status and the shape of the body, never a value of it. Null where the question was not asked, or no answer came. */
  came: { status: number; body: BodyShape | null } | null;
}

/** One question. */
export interface Question extends Pick<Finding, 'asks' | 'expected'> {
  /** A text where it cannot be asked: why. */
  request: ApiRequest | string;
  /** What may be wrong where the answer cannot be read. */
  toCheck: string;
  judge(reply: ApiReply): Judgement;
  /** Where no answer comes: what a person has to check, as the request may have had an effect. */
  ifUnanswered?: string;
  /** Is it asked even after a rate limit or a failed connection, since it cleans up? */
  isCleanUp?: boolean;
  /** How long to wait before it, at least. */
  pauseMs?: number;
}

/** A probe under way. */
export interface Probe {
  account: Account;
  profile: ContractProfile;
  orderId: OrderId | undefined;
  /** The tokens that the service has given so far. */
  tokens: Map<Scope, string>;
  /** Are the other encodings of the token request tried, too? */
  triesEncodings: boolean;
  /** The body of a ride to create twice and cancel; absent: none is created. */
  repeatCreate?: unknown;
}
