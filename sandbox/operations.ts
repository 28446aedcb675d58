/** What a service call can be for. Later issues add the other business operations here. */
export const operations = [
  'partnerToken',
  'businessToken',
  'orderStatus',
  'orderDetails',
  'orderReceipt',
  'createSubscriber',
  'listSubscribers',
  'deleteSubscriber',
] as const;

export type OperationName = (typeof operations)[number];

export const isTokenOperation = (operation: OperationName): boolean =>
  operation === 'partnerToken' || operation === 'businessToken';
