import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InterceptingCall, type Interceptor } from '@grpc/grpc-js';
import { Client, Connection } from '@temporalio/client';
import { expect, inject, it, onTestFinished } from 'vitest';
import { projectRoot } from '../../../dev/stack/temporal/project-root.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import { newDelivery, newReport, portOf } from '../../support/delivery/deliveries.js';
import { useOrderStack } from '../../support/order/stack.js';

const stack = useOrderStack();
const account = toAccountName('business');

/** A client of Temporal, and the calls that it has made. */
async function aWatchedClient() {
  const calls = new Set<string>();
  const note: Interceptor = (options, next) => {
    calls.add(options.method_definition.path.split('/').at(-1) ?? '');
    return new InterceptingCall(next(options));
  };
  const connection = await Connection.connect({ address: inject('temporalAddress'), interceptors: [note] });
  onTestFinished(() => connection.close());
  return { client: new Client({ connection }), calls };
}

it('whatever an ingress does, it makes only the calls that the page about security lists, and all of those', async () => {
  const { client, calls } = await aWatchedClient();
  const port = portOf({ client, config: stack.config });
  const [fresh, broken, ended] = [
    stack.newOrder('business', [['Driving', 0]]),
    stack.newOrder('business', [['Driving', 0]]),
    stack.newOrder('business', [['Completed', 0]]),
  ].map((orderId) => ({ account, orderId: toOrderId(orderId) }));
  if (!fresh || !broken || !ended) return expect.fail();
  await (await stack.follow('business', ended.orderId)).result();
  await stack.follow('business', broken.orderId);
  await stack.client.workflow.getHandle(followOrderId(broken)).terminate();

  const outcomes = [];
  for (const key of [fresh, fresh, broken, ended]) outcomes.push(await port.toOrder(key, [newDelivery()]));
  expect(outcomes).toEqual(['started', 'signalled', 'started', 'late']);
  await port.signal(followOrderId(fresh), [newDelivery()]);
  await port.isSettled(followOrderId(fresh));
  await port.toReport({ account, about: fresh.orderId }, [newReport()]);
  await port.isKnown(fresh);
  const { deliveryId, receivedAt } = newDelivery();
  const parked = { account, eventType: 'status_changed', reason: 'noOrderId', deliveryId, receivedAt } as const;
  await port.park({ ...parked, sealed: 'sealed' });
  await port.countParked(account);
  await port.readSubscription({ account, eventType: 'status_changed' });
  await port.ping();

  const page = readFileSync(join(projectRoot, 'docs/explanation/security.md'), 'utf8');
  const [, table = ''] = /### What it calls\n([\s\S]*?)\n###? /.exec(page) ?? [];
  const listed = [...table.matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name);
  expect(listed.sort()).toEqual([...calls].sort());
});
