import type { RideInterface } from '../../src/domain/account.js';
import { businessOperations } from '../../src/domain/call.js';

/** The operations of the service. */
export const operations = [
  'partnerToken',
  'businessToken',
  'orderStatus',
  ...businessOperations,
  'orderReport',
  'createSubscriber',
  'listSubscribers',
  'deleteSubscriber',
] as const;

/** One of `operations`. */
export type OperationName = (typeof operations)[number];

export const isTokenOperation = (operation: OperationName): boolean =>
  operation === 'partnerToken' || operation === 'businessToken';

/** The interface of an operation. */
export const interfaceOf = (operation: OperationName): RideInterface =>
  operation === 'partnerToken' || operation === 'orderStatus' ? 'partner' : 'business';
