/** What a service call can be for. */
export const operations = [
  'partnerToken',
  'businessToken',
  'orderStatus',
  'companySettings',
  'products',
  'createOrder',
  'orderDetails',
  'updateOrder',
  'cancelOrder',
  'addReferenceCode',
  'orderReceipt',
  'createSubscriber',
  'listSubscribers',
  'deleteSubscriber',
] as const;

export type OperationName = (typeof operations)[number];

export const isTokenOperation = (operation: OperationName): boolean =>
  operation === 'partnerToken' || operation === 'businessToken';
