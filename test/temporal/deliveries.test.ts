import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { toAccountName } from '../../src/domain/keys.js';
import { createDeliveryPort } from '../../src/temporal/deliveries.js';

const subscription = { accepted: [{ generation: 'g1', until: null, secrets: [], isSecretLost: true }] };

/** What the ingress reads of a subscription whose run stands like this. */
async function readAs(name: string): Promise<unknown> {
  const describe = async () => ({ status: { name }, startTime: new Date(), memo: { subscription } });
  const client = {
    withDeadline: <T>(_deadline: number, act: () => Promise<T>) => act(),
    workflow: { getHandle: () => ({ describe }) },
  } as unknown as Client;
  const port = createDeliveryPort({ client, taskQueue: 'q', untracked: () => 'follow' });
  return await port.readSubscription({ account: toAccountName('business'), eventType: 'status_changed' });
}

it('a subscription whose run an operator has paused takes deliveries; one that has ended takes none', async () => {
  expect(await readAs('RUNNING')).toEqual(subscription);
  expect(await readAs('PAUSED')).toEqual(subscription);
  expect(await readAs('TERMINATED')).toEqual({ accepted: [] });
});
