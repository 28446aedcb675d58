import { businessOperations } from '../../src/domain/call.js';

/** The operations of the service. */
export const operations = [
  'partnerToken',
  'businessToken',
  'orderStatus',
  ...businessOperations,
  'createSubscriber',
  'listSubscribers',
  'deleteSubscriber',
] as const;

/** One of `operations`. */
export type OperationName = (typeof operations)[number];

export const isTokenOperation = (operation: OperationName): boolean =>
  operation === 'partnerToken' || operation === 'businessToken';
