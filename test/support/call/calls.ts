import { randomUUID } from 'node:crypto';
import { sandboxReferenceFields } from '../../../dev/sandbox/sandbox.js';
import type { BusinessCallInput, BusinessOperation } from '../../../src/domain/call.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { businessCallStart } from '../../../src/temporal/starts.js';
import type { businessCall } from '../../../src/workflows/business-call.js';
import type { OrderStack } from '../order/stack.js';

export const referenceFieldId = sandboxReferenceFields[0].codesId;

/** Starts a business call under a key of its own unless one is given. */
export function startCall(
  { client, config }: Pick<OrderStack, 'client'> & { config: { taskQueue: string } },
  operation: BusinessOperation,
  more: Partial<BusinessCallInput> = {},
) {
  const input: BusinessCallInput = { account: toAccountName('business'), operation, key: randomUUID(), ...more };
  return client.workflow.start<typeof businessCall>('businessCall', businessCallStart(input, config.taskQueue));
}
