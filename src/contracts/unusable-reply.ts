import { FaretrailError } from '../domain/errors.js';

/** What a success lacked. */
export type UnusableReplyCode =
  /** A success that holds no order status. Read again on the usual rhythm; change nothing. */
  | 'UNREADABLE_STATUS'
  /** The answer speaks of another order than the one asked for. Do not apply it. */
  | 'ORDER_MISMATCH'
  /** A create that succeeded without telling the id of the order: the service made an order that we cannot name. */
  | 'NO_ORDER_ID'
  /** A success of the token endpoint without a token. Ask again as after a server failure, bounded. */
  | 'NO_TOKEN'
  /** `token_type` is something other than bearer. */
  | 'WRONG_TOKEN_TYPE'
  /** The scope that was asked for is not among those granted. */
  | 'SCOPE_NOT_GRANTED';

/** A success whose JSON does not say what we need. Holds no part of the body.
 *  Not for a body that is no JSON (`RideApiGarbled`), nor for an answer that says no (`RideApiError`). */
export class UnusableReply extends FaretrailError<UnusableReplyCode> {
  override readonly name = 'UnusableReply';

  constructor(code: UnusableReplyCode) {
    super(code, `upstream's answer cannot be used: ${code}`);
  }
}
