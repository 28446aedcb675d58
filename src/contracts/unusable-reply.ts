import { FaretrailError } from '../domain/errors.js';
import type { OrderId } from '../domain/keys.js';

/** Why a success answer cannot be used. */
export type UnusableReplyCode =
  /** It has no order status. The worker reads the order again at the usual pace and changes nothing. */
  | 'UNREADABLE_STATUS'
  /** It names another order than the requested one, so the worker does not apply it. */
  | 'ORDER_MISMATCH'
  /** A create succeeded without an order id: the service has made an order that the worker cannot name. */
  | 'NO_ORDER_ID'
  /** The answer to a price estimate names no quote. */
  | 'NO_QUOTE'
  /** The token endpoint answered without a token. The worker repeats the request as after a server failure. */
  | 'NO_TOKEN';

/** The field of the contract profile that says where the missing value stands. Reads name their own operation elsewhere. */
const fieldOf: Readonly<Partial<Record<UnusableReplyCode, string>>> = {
  NO_ORDER_ID: 'pointers.createOrder.orderId',
  NO_QUOTE: 'pointers.priceEstimate.quoteId',
};

/** A success answer whose JSON lacks a required value. Holds no part of the body.
 *  Not for a body that is not JSON (`RideApiGarbled`) or a refusal (`RideApiError`). */
export class UnusableReply extends FaretrailError<UnusableReplyCode> {
  override readonly name = 'UnusableReply';

  /** An order that the answer names where no success would name it. */
  readonly namedOrderId: OrderId | undefined;

  constructor(code: UnusableReplyCode, namedOrderId?: OrderId) {
    const field = fieldOf[code];
    const hint = field === undefined ? '' : ` (${field} of the contract profile finds nothing in it)`;
    super(code, `upstream's answer cannot be used: ${code}${hint}`);
    this.namedOrderId = namedOrderId;
  }
}
