import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { entries } from '../../src/cli/program.js';
import { toOrderId } from '../../src/domain/keys.js';
import { followOrderId, parkedDeliveryId } from '../../src/domain/workflow-ids.js';
import { runHere } from '../cli/fake-process.js';
import { newDelivery } from '../support/delivery/deliveries.js';
import { jsonFile } from '../support/json-file.js';
import { useOrderStack } from '../support/order/stack.js';
import { account, doubtfulRide, goesOn, requestedRide, rideUnderWay } from '../support/ride/rides.js';
import { webhookEnv } from '../support/subscription/subscriptions.js';

// No command says "done" for what it did not do.

const stack = useOrderStack({ env: webhookEnv() });
afterEach(() => {
  stack.sandbox.clearFaults();
  stack.sandbox.setRideSettings({ script: null, cancelTakesMs: 0 });
});

/** What a command printed, its answer or its error, and the exit code. */
async function told(...argv: string[]) {
  const env = {
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    FARETRAIL_TASK_QUEUE: stack.config.taskQueue,
    PATH: '',
  };
  const { exitCode, stdout, stderr } = await runHere([...argv, '--json'], env);
  const [line = '{}'] = (stdout || stderr).trim().split('\n').slice(-1);
  return { exitCode, ...JSON.parse(line) };
}

const shows = 'shows what Temporal keeps, and claims no effect';
const starts = 'the start is idempotent: the state says whether a run was started';

/** How each command knows of its effect, and what it answers where there was none, or where it is not known. */
const claims: Record<string, string> = {
  'order follow': `${starts}; alreadyEnded where it was not, with the trail`,
  'order import': `${starts}, for each row; 1 if a row failed`,
  'order show': shows,
  'order watch': shows,
  'order refresh':
    'the trail shows no trouble; NotRead with its reason and 1, alreadyEnded and 1 unless the end is final',
  'order stop': 'the answer of the run; alreadyEnded where nothing is followed any more',
  'order list': shows,
  'ride request': `${starts}; alreadyEnded: nothing was ordered now`,
  'ride show': shows,
  'ride watch': shows,
  'ride update': 'the answer of the service; its refusal and 1',
  'ride cancel': 'the ride has the outcome cancelled or withdrawn; NotCancelled and 1',
  'ride resolve': 'the ride is in no doubt; OutcomeUnknown and 1 after another attempt with an unknown outcome',
  'ride list': shows,
  'subscription create': 'the subscription is active at this URL; 1 if it is not',
  'subscription list': shows,
  'subscription rotate': 'the new address is in force; NoAnswer and 1',
  'subscription move': 'the new address is in force; NoAnswer and 1',
  'subscription end': 'the ingress refuses its addresses; names what the service could not remove',
  'delivery parked': shows,
  'delivery route': 'a run took it; NotRouted and 1, alreadyDecided and 1 after another decision',
  'delivery discard': 'the answer of the run; alreadyDecided and 1 after another decision',
  'delivery send': 'the answer of the ingress; 1 unless it is 2xx',
  'notice list': shows,
  'notice resend': 'the runs have the request; ended and 1, NotMissed and 3',
  'notice secret': shows,
  call: 'the answer of the service; its failure and 1; a repeated key says that nothing was sent now',
  'token list': shows,
  attention: shows,
  doctor: shows,
  probe: 'each request has its verdict; 1 for what is wrong or unanswered',
  replay: 'each history replayed; 1 if one did not',
  erase: 'the runs and rows are gone; 1 with those left, 3 if nothing was kept',
  codec: shows,
};

const names = entries.flatMap((entry) =>
  'verbs' in entry
    ? entry.verbs.map(({ form }) => `${entry.noun} ${form.split(' ')[0]}`)
    : [entry.form.split(/ [<[]/)[0] ?? ''],
);

it('each command has a line in this table', () => {
  expect(Object.keys(claims).sort()).toEqual([...names].sort());
});

const forbidden = 'forbidden' as const;
const order = (verb: string, orderId: string, ...more: string[]) => told('order', verb, 'business', orderId, ...more);

async function followed(status = 'Routing'): Promise<string> {
  const orderId = stack.newOrder('business', [[status, 0]]);
  await order('follow', orderId);
  expect(await order('refresh', orderId)).toMatchObject({ exitCode: 0, state: 'done', trail: { status } });
  return orderId;
}

describe('order refresh', () => {
  it('fails with the trouble that kept it from reading, and shows the trail before it', async () => {
    const orderId = await followed();
    stack.sandbox.setFault({ kind: forbidden, orderId });
    for (let asked = 0; asked < 2; asked += 1) {
      const given = await order('refresh', orderId);
      expect(given).toMatchObject({ exitCode: 1, state: 'notDone', failure: { code: 'NotRead' } });
      expect(given.trail).toMatchObject({ status: 'Routing', attention: { code: forbidden } });
    }
    stack.sandbox.clearFaults();
    expect(await order('refresh', orderId)).toMatchObject({ exitCode: 0, state: 'done', failure: null });
  });

  it('of an order that has ended says so; that is the end only if the order ended at the service', async () => {
    const completed = await followed();
    stack.sandbox.setStatus('business', completed, 'Completed');
    expect(await order('refresh', completed)).toMatchObject({ exitCode: 0, trail: { outcome: 'completed' } });
    expect(await order('refresh', completed)).toMatchObject({ exitCode: 0, state: 'alreadyEnded' });
    const stopped = await followed();
    await order('stop', stopped, '--reason', 'a test');
    expect(await order('refresh', stopped)).toMatchObject({ exitCode: 1, state: 'alreadyEnded' });
  });
});

it('order stop says when nothing is followed any more', async () => {
  const orderId = await followed();
  const stop = () => order('stop', orderId, '--reason', 'a test');
  expect(await stop()).toMatchObject({ exitCode: 0, state: 'done', trail: { outcome: 'stopped' } });
  // The run answers a moment before it ends.
  await stack.client.workflow.getHandle(followOrderId({ account, orderId: toOrderId(orderId) })).result();
  expect(await stop()).toMatchObject({ exitCode: 0, state: 'alreadyEnded', trail: { outcome: 'stopped' } });
});

const ride = (verb: string, id: string, ...more: string[]) => told('ride', verb, 'business', id, ...more);

describe('the commands of a ride', () => {
  it('cancel says when the order does not read cancelled yet', async () => {
    const { requestId, handle } = await rideUnderWay(stack, {}, { cancelShownMs: 300 });
    stack.sandbox.setRideSettings({ cancelTakesMs: 60_000 });
    const given = await ride('cancel', requestId);
    expect(given).toMatchObject({ exitCode: 1, state: 'notDone', failure: { code: 'NotCancelled' } });
    await handle.terminate();
  });

  it('cancel says when it is cancelled, and the second one that the ride has ended', async () => {
    const { requestId, handle } = await rideUnderWay(stack);
    const given = await ride('cancel', requestId);
    expect(given).toMatchObject({ exitCode: 0, state: 'done', ride: { outcome: 'cancelled' }, failure: null });
    await handle.result();
    expect(await ride('cancel', requestId)).toMatchObject({ exitCode: 1, state: 'alreadyEnded' });
  });

  it('resolve says when another attempt leaves the ride in doubt again', async () => {
    const { requestId, handle } = await doubtfulRide(stack);
    stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
    const given = await ride('resolve', requestId, '--try-again');
    expect(given).toMatchObject({ exitCode: 1, state: 'notDone', failure: { code: 'OutcomeUnknown' } });
    await handle.terminate();
  });

  it('request with a used id says that nothing was ordered now', async () => {
    stack.sandbox.setRideSettings({ script: goesOn });
    const { requestId, order, handle } = await requestedRide(stack);
    await handle.executeUpdate('cancelRide');
    await handle.result();
    const given = await told('ride', 'request', account, '--input', jsonFile(order), '--request-id', requestId);
    expect(given).toMatchObject({ exitCode: 0, state: 'alreadyEnded' });
  });
});

it('delivery discard and route say when the delivery was decided otherwise', async () => {
  const { deliveryId, ...delivery } = newDelivery();
  await stack.client.workflow.start('parkedDelivery', {
    workflowId: parkedDeliveryId({ account, deliveryId }),
    taskQueue: stack.config.taskQueue,
    args: [{ account, deliveryId, ...delivery, reason: 'noOrderId', sealed: 'eyJhbGciOiJkaXIifQ..c2VhbGVk.b2Y.dGhl' }],
  });
  const discard = () => told('delivery', 'discard', 'business', deliveryId, '--reason', 'a test');
  expect(await discard()).toMatchObject({ exitCode: 0, state: 'done', delivery: { outcome: 'discarded' } });
  expect(await discard()).toMatchObject({ exitCode: 0, state: 'alreadyDecided' });
  const routed = await told('delivery', 'route', 'business', deliveryId, '--order', '7');
  expect(routed).toMatchObject({ exitCode: 1, state: 'alreadyDecided', delivery: { outcome: 'discarded' } });
});

it('commands about what does not exist say so', async () => {
  const id = randomUUID();
  for (const argv of [
    ['order', 'refresh', 'business', id],
    ['order', 'stop', 'business', id, '--reason', 'x'],
    ['ride', 'cancel', 'business', id],
    ['ride', 'resolve', 'business', id, '--try-again'],
    ['delivery', 'discard', 'business', id.replaceAll('-', ''), '--reason', 'x'],
    ['notice', 'resend', `order/business/${id}/${id}/0/1`],
    ['erase', 'business', id, '--yes'],
  ])
    expect(await told(...argv), argv.join(' ')).toMatchObject({ exitCode: 3, error: { code: expect.any(String) } });
});

// At the end: the account waits afterwards.
it('order refresh reads at once after a Retry-After of the service, for the account too', async () => {
  const [waiting, other] = [await followed(), await followed()];
  stack.sandbox.setFault({ kind: 'tooManyRequests', orderId: other, retryAfterSeconds: 120 });
  const refused = await order('refresh', other);
  expect(refused).toMatchObject({ exitCode: 1, state: 'notDone', failure: { code: 'NotRead' } });
  expect(refused.failure.message).toMatch(/Nothing is sent until \d{4}-\d\d-\d\d/);
  stack.sandbox.setStatus('business', waiting, 'Driving');
  const reads = stack.sandbox.ledger({ orderId: waiting }).length;
  expect(await order('refresh', waiting)).toMatchObject({ exitCode: 0, state: 'done', trail: { status: 'Driving' } });
  expect(stack.sandbox.ledger({ orderId: waiting }).length).toBeGreaterThan(reads);
});
