/** Errors of an operator in the contract profile: paths and pointers of reads. */
export const wrongGuesses = [
  { operations: { orderDetails: { path: '/v9/orders/{order_id}?businessId={business_id}' } } },
  { operations: { orderStatus: { path: '/v9/private/orders/{order_id}' } } },
  { pointers: { orderDetails: { status: ['/nowhere/status'] } } },
  { pointers: { orderStatus: { status: ['/nowhere/status'] } } },
] as const;

export type WrongGuess = (typeof wrongGuesses)[number];
