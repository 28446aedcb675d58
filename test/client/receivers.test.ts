import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { orderHandle } from '../../src/client/order.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';

it('an added receiver that cannot be told is named by its place in the list, before anything is sent', async () => {
  const client = { workflow: { getHandle: () => ({}) } } as unknown as Client;
  const order = orderHandle(client, { account: toAccountName('partner'), orderId: toOrderId('42') });
  const receivers = [{ url: 'https://orders.example' }, { url: 'ftp://orders.example' }];
  const refusal = { code: 'InvalidInput', message: expect.stringMatching(/^notify\[1\]\.url: /) };
  await expect(order.notify(receivers)).rejects.toMatchObject(refusal);
});
