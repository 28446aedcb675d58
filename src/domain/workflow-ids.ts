import { type AccountName, isOrderId, type OrderId, type Scope, toScope } from './keys.js';

/** What names one followed order. */
export interface FollowOrderKey {
  account: AccountName;
  orderId: OrderId;
}

/** What names one token lease: the fleet holds one token per key. */
export interface AccessTokenKey {
  account: AccountName;
  scope: Scope;
  /** Keyed hash of client id and secret, so that old and new credentials live side by side while they change. */
  credentialId: string;
}

/** Id of the `followOrder` workflow of an order. No part can hold a "/": `toAccountName` and `toOrderId` refuse it. */
export const followOrderId = ({ account, orderId }: FollowOrderKey): string => `order/${account}/${orderId}`;

/** The inverse of `followOrderId`; undefined for any other id. */
export function fromFollowOrderId(workflowId: string): FollowOrderKey | undefined {
  const [, account, orderId] = /^order\/([a-z0-9-]{1,40})\/([^/]+)$/.exec(workflowId) ?? [];
  return account && orderId && isOrderId(orderId) ? { account: account as AccountName, orderId } : undefined;
}

/** Id of the `accessToken` workflow of a key: scope values joined by "+", `unscoped` when there are none. */
export function accessTokenId({ account, scope, credentialId }: AccessTokenKey): string {
  return `token/${account}/${scope === '' ? 'unscoped' : scope.replaceAll(' ', '+')}/${credentialId}`;
}

/** The inverse of `accessTokenId`; undefined for any other id. */
export function fromAccessTokenId(workflowId: string): AccessTokenKey | undefined {
  const [, account, scope, credentialId] = /^token\/([a-z0-9-]{1,40})\/([^/]+)\/([^/]+)$/.exec(workflowId) ?? [];
  if (!account || !scope || !credentialId) return undefined;
  return { account: account as AccountName, scope: toScope(scope === 'unscoped' ? '' : scope), credentialId };
}
