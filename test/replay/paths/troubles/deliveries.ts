import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../../../src/domain/keys.js';
import { companyReportId } from '../../../../src/domain/workflow-ids.js';
import { deliver, newReport, reported } from '../../../support/delivery/deliveries.js';
import { patient } from '../../../support/patience.js';
import { account, failureOf } from '../../../support/ride/rides.js';
import { hasTimers } from '../../../support/runs.js';
import { leaseStart } from '../../../support/token/leases.js';
import { parked } from '../deliveries.js';
import { completed, ended, type Paths } from '../path.js';
import { answers, fails, type Scripted, scripted } from '../scripted.js';

const orderId = toOrderId('4711');
/** What a read of a receipt found. */
export const receipt = {
  kind: 'receipt',
  receipt: { total: '12.50' },
  at: '2030-01-01T00:00:00.000Z',
  reads: 1,
} as const;

const lease = (place: Scripted) =>
  place.client.workflow.start('accessToken', leaseStart(place as never, { scope: '' as never }));

/** Of token requests, deliveries and reports. */
export const deliveryTroubles: Paths = {
  'token-that-no-worker-requests': scripted({ requestToken: () => fails() }, async (place) => {
    const handle = await lease(place);
    await handle.signal('renewToken', { insteadOf: null });
    await vi.waitFor(async () => expect((await handle.describe()).memo?.lease).toMatchObject({ failure: {} }), patient);
    await handle.terminate();
    return handle;
  }),
  'parked-refused-then-routed': scripted(
    {
      handOverDelivery: [
        answers('ignored'),
        answers('followingStopped'),
        answers('endUnreadable'),
        () => fails(),
        answers('signalled'),
      ],
    },
    async (place) => {
      const handle = await parked(place);
      const route = () => handle.executeUpdate('routeDelivery', { args: [{ orderId }] });
      for (let refusals = 0; refusals < 4; refusals += 1) await failureOf(route());
      await route();
      return await completed(handle);
    },
  ),
  'parked-expired-during-a-refusal': scripted({ handOverDelivery: answers('ignored', 1_500) }, async (place) => {
    const handle = await parked(place, {}, { keptMs: 1_000 });
    await failureOf(handle.executeUpdate('routeDelivery', { args: [{ orderId }] }));
    return await completed(handle);
  }),
  'parked-routed-as-it-expires': scripted({ handOverDelivery: answers('started', 1_500) }, async (place) => {
    const handle = await parked(place, {}, { keptMs: 1_000 });
    await handle.executeUpdate('routeDelivery', { args: [{ orderId }] });
    return await completed(handle);
  }),
  ...Object.fromEntries(
    ['late', 'reported'].map((answer) => [
      `parked-routed-${answer}`,
      scripted({ handOverDelivery: answers(answer) }, async (place) => {
        const handle = await parked(place);
        await handle.executeUpdate('routeDelivery', { args: [{ orderId }] });
        return await completed(handle);
      }),
    ]),
  ),
  'report-that-nobody-asked-for': scripted({}, async (place) => {
    const handle = await reported(place, {});
    await hasTimers(handle, 1);
    await handle.terminate();
    return handle;
  }),
  'report-of-an-order-as-in-production': scripted({ readReceipt: answers(receipt) }, async (place) => {
    const handle = await reported(place, { orderId });
    await vi.waitFor(async () => expect(await handle.query('reportStatus')).toMatchObject({ receipt: {} }), patient);
    await handle.terminate();
    return handle;
  }),
  'report-with-another-id': scripted({}, ({ client, config: { taskQueue } }) =>
    ended(client.workflow.start('companyReport', { workflowId: randomUUID(), taskQueue, args: [{ account }] })),
  ),
  'report-with-the-id-of-another': scripted({}, ({ client, config: { taskQueue } }) => {
    const workflowId = companyReportId({ account: toAccountName('partner'), about: orderId });
    return ended(client.workflow.start('companyReport', { workflowId, taskQueue, args: [{ account, orderId }] }));
  }),
  'report-that-is-long': scripted({ readReceipt: answers(receipt) }, async (place) => {
    const handle = await reported(place, { orderId, limits: { maxEvents: 12 } });
    await vi.waitFor(async () => {
      await deliver(handle, newReport());
      expect((await handle.describe()).runId).not.toBe(handle.signaledRunId);
    }, patient);
    await handle.terminate();
    return { workflowId: handle.workflowId, runId: handle.signaledRunId };
  }),
  'report-again-after-quiet': scripted({ readReceipt: answers(receipt, 1_500) }, async (place) => {
    const handle = await reported(place, { orderId, limits: { quietMs: 800 } });
    await hasTimers(handle, 1);
    await sleep(1_000);
    await deliver(handle, newReport());
    return await completed(handle);
  }),
};
