import { randomUUID } from 'node:crypto';
import { toAccountName, toScope } from '../../../src/domain/keys.js';
import type { AccessTokenInput } from '../../../src/domain/token-lease.js';
import { accessTokenId } from '../../../src/domain/workflow-ids.js';
import { createSealer } from '../../../src/sealing/sealer.js';
import type { OrderStack } from '../order/stack.js';

/** The start of a lease that no token source reads: the end of its id is its own. */
export function leaseStart({ config }: Pick<OrderStack, 'config'>, more: Partial<AccessTokenInput> = {}) {
  const { clientId = '', clientSecret = '' } = config.accounts.find(({ name }) => name === 'business') ?? {};
  const credentialId = createSealer(config.sealingKeys).keyedHash(clientId, clientSecret);
  const key = { account: toAccountName('business'), scope: toScope('finance'), credentialId };
  const args: [AccessTokenInput] = [{ ...key, ...more }];
  return { workflowId: `${accessTokenId(key)}-${randomUUID()}`, taskQueue: config.taskQueue, args };
}
