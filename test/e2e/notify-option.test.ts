import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { nowhere, runHere } from '../cli/fake-process.js';
import { newRide } from '../sandbox/booking-calls.js';
import { jsonFile } from '../support/json-file.js';
import { type NotifyReceiver, startNotifyReceiver } from '../support/notify/receiver.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';
import { completes } from '../support/ride/rides.js';

let receiver: NotifyReceiver;
let stack: OrderStack;
beforeAll(async () => {
  receiver = await startNotifyReceiver();
  stack = await startOrderStack({ env: receiver.env });
});
afterAll(async () => {
  await stack.close();
  await receiver.close();
});

const cli = (...argv: string[]) =>
  runHere(argv, { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE: stack.config.taskQueue });

describe('--notify', () => {
  it('of order follow tells each URL, also of an order that is followed already', async () => {
    const orderId = stack.newOrder('business', [['Routing', 0]]);
    const follow = (...paths: string[]) =>
      cli(
        'order',
        'follow',
        'business',
        orderId,
        ...paths.flatMap((path) => ['--notify', `${receiver.origin}${path}`]),
      );
    expect(await follow('/first', '/second')).toMatchObject({ exitCode: 0 });
    await expect.poll(() => receiver.taken('/second')).toEqual(['Routing']);
    expect(await follow('/third', '/first')).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Already/) });
    await expect.poll(() => receiver.taken('/third')).toEqual(['Routing']);
    stack.sandbox.setStatus('business', orderId, 'Completed');
    for (const path of ['/first', '/second', '/third']) {
      await expect.poll(() => receiver.taken(path)).toEqual(['Routing', 'Completed']);
    }
  });

  it('of ride request tells of the order that is made', async () => {
    stack.sandbox.setBookingSettings({ script: completes });
    const input = ['--input', jsonFile(newRide()), '--request-id', randomUUID()];
    const ordered = await cli('ride', 'request', 'business', ...input, '--notify', `${receiver.origin}/ride`);
    expect(ordered, ordered.stderr).toMatchObject({ exitCode: 0 });
    await expect.poll(() => receiver.taken('/ride').at(-1)).toBe('Completed');
  });

  it('names a workflow by id and signal', async () => {
    const orderId = stack.newOrder('business', [['Completed', 0]]);
    await cli('order', 'follow', 'business', orderId, '--notify', 'trip:9:orderChanged');
    const handle = stack.client.workflow.getHandle(`order/business/${orderId}`);
    await handle.result();
    const { events } = await handle.fetchHistory();
    const sent = events?.flatMap((event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes ?? []);
    const [{ workflowExecution, signalName } = {}] = sent ?? [];
    expect([workflowExecution?.workflowId, signalName]).toEqual(['trip:9', 'orderChanged']);
  });

  it.each(['orders', 'ftp://x/', ':signal', 'workflow:', 'http://'])('does not take %s', async (who) => {
    const { exitCode, stderr } = await runHere(['order', 'follow', 'partner', '42', '--notify', who], nowhere);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringMatching(/notify/) });
  });
});
