import { randomUUID } from 'node:crypto';
import {
  Client,
  type WorkflowFailedError,
  type WorkflowHandle,
  type WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure, type RawValue } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { toAccountName, toScope } from '../../../src/domain/keys.js';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import type { AccessTokenInput, TokenLease } from '../../../src/domain/token-lease.js';
import { accessTokenId, accountWatchId, parkedDeliveryId, subscriptionId } from '../../../src/domain/workflow-ids.js';
import { toDataConverter } from '../../../src/sealing/data-converter.js';
import { createTokenLeases } from '../../../src/temporal/token-leases.js';
import * as workflows from '../../../src/workflows/index.js';
import * as messages from '../../../src/workflows/messages.js';
import { newRide } from '../../dev/sandbox/booking-calls.js';
import { deliver, deliveryOf, newDelivery, portOf, reported } from '../../support/delivery/deliveries.js';
import { encrypted, misshapen, raw, undecodable } from '../../support/hostile/payloads.js';
import { startNotices } from '../../support/notify/notices.js';
import { useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { rideUnderWay } from '../../support/ride/rides.js';
import { continued, eventsOf } from '../../support/runs.js';
import { subscribe, webhookEnv } from '../../support/subscription/subscriptions.js';
import { leaseStart } from '../../support/token/leases.js';

/** What the activities of an order do in its attempts, instead of a read. */
const mischief = new Map<string, (() => unknown)[]>();
const activity: ActivityInterceptorsFactory = () => ({
  inbound: {
    async execute(input, next) {
      const { orderId } = input.args[0] as { orderId?: string };
      const act = mischief.get(orderId ?? '')?.shift();
      return act ? act() : await next(input);
    },
  },
});

const stack = useOrderStack({ env: webhookEnv(), options: { interceptors: { activity: [activity] } } });

const account = toAccountName('business');
const types = Object.keys(workflows);
const readable = { ...misshapen, 'binary/null': raw(null, { encoding: 'binary/null' }) };

/** The failure type of what was refused, or its message where it has none. */
const refusal = (act: Promise<unknown>): Promise<string> =>
  act.then(
    () => 'taken',
    (error: WorkflowFailedError | WorkflowUpdateFailedError) => {
      const { cause } = error;
      return cause instanceof ApplicationFailure && cause.type ? `${cause.type} ${cause.message}` : error.message;
    },
  );

const start = (type: string, args: unknown[]): Promise<string> => {
  const { workflow } = stack.client;
  const options = { workflowId: `hostile-${randomUUID()}`, taskQueue: stack.config.taskQueue, args };
  return refusal(workflow.start(type, options).then((handle) => handle.result()));
};

/** A run of each type with each of these arguments, all at once. */
const startEach = (
  forms: [form: string, args: unknown[]][],
  isWanted: (one: { type: string; form: string }) => boolean = () => true,
): Promise<[string, string][]> =>
  Promise.all(
    types.flatMap((type) =>
      forms
        .filter(([form]) => isWanted({ type, form }))
        .map(async ([form, args]): Promise<[string, string]> => [`${type}, ${form}`, await start(type, args)]),
    ),
  );

const notRefused = (outcomes: [string, string][], wanted: RegExp) => outcomes.filter(([, said]) => !wanted.test(said));

describe.concurrent('a start of any type', () => {
  it('with an input that cannot be decoded, or is of no shape, fails at once and says which field', async () => {
    const forms = Object.entries({ ...undecodable, ...readable });
    const outcomes = await startEach(
      forms.map(([form, value]) => [form, [value]]),
      ({ type, form }) => !(type === 'replayGate' && form === 'binary/null'), // it takes no input, and so none
    );
    expect(notRefused(outcomes, /^InvalidInput [\w.]+: /)).toEqual([]);
    const cannotBeRead = outcomes.filter(([name]) =>
      Object.keys(undecodable).some((form) => name.endsWith(`, ${form}`)),
    );
    expect(notRefused(cannotBeRead, /^InvalidInput input: cannot be decoded: /)).toEqual([]);
  });

  it('with a second argument that none of our runs has written fails, too', async () => {
    const second = {
      NaN: undecodable.NaN,
      text: 'text',
      carried: { carried: { trail: {} } },
      state: { state: {} },
      limits: { limits: { maxEvents: 'x' } },
      'no limits': { limits: 5 },
    };
    const outcomes = await startEach(Object.entries(second).map(([form, value]) => [form, [{}, value]]));
    expect(notRefused(outcomes, /^InvalidInput (progress|limits|maxEvents): /)).toEqual([]);
  });

  it.each([7, { trail: {} }])('of an order with %j as what a former run left fails, too', async (left) => {
    expect(await start('followOrder', [{ account, orderId: '1' }, { left }])).toMatch(/^InvalidInput left[.\w]*: /);
  });

  it.each([
    ['followOrder', { account, orderId: '1' }],
    ['companyReport', { account, orderId: '1' }],
    ['businessCall', { account, operation: 'companySettings', key: 'k' }],
    ['requestRide', { account, requestId: 'r', order: newRide() }],
    ['parkedDelivery', { account, ...newDelivery(), reason: 'noOrderId', sealed: 'x' }],
  ])('under another id than that of its input fails at once: %s', async (type, input) => {
    expect(await start(type, [input])).toMatch(/^InvalidInput workflow id: must be "/);
  });
});

it.concurrent('an order id that is a number of any length keeps its digits', async () => {
  const orderId = `12345678901${Date.now()}`;
  stack.sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Completed', afterMs: 0 }] });
  const run = await stack.client.workflow.start('followOrder', {
    workflowId: `order/${account}/${orderId}`,
    taskQueue: stack.config.taskQueue,
    args: [raw(`{"account":"${account}","orderId":${orderId}}`)],
  });
  expect(await run.result()).toMatchObject({ orderId, outcome: 'completed' });
});

it.concurrent('an activity that throws or answers what the core of the SDK does not take is tried again, and its worker goes on', async () => {
  const raise = (error: unknown) => (): never => {
    throw error;
  };
  const endless = new Error('its own cause');
  endless.cause = endless;
  const acts = [
    ...[new Error('Still Dri\ud800ving.'), endless, new Error('x'.repeat(3_000_000))].map(raise),
    () => ({ kind: 'reading', body: 'x'.repeat(3_000_000) }),
  ];
  const trails = await Promise.all(
    acts.map(async (act): Promise<OrderTrail> => {
      const orderId = stack.newOrder('business', [['Completed', 0]]);
      mischief.set(orderId, [act]);
      return await (await stack.follow('business', orderId)).result();
    }),
  );
  expect(trails.map(({ outcome }) => outcome)).toEqual(trails.map(() => 'completed'));
  expect([...mischief.values()].flat(), 'all was done').toEqual([]);
});

it.concurrent('a memo of any kind, of a run of any type, leaves the readers of our memos unharmed', async () => {
  const client = new Client({
    connection: stack.client.connection,
    dataConverter: toDataConverter(stack.config.payloads),
  });
  const leases = createTokenLeases(client, stack.config.taskQueue);
  const port = portOf({ ...stack, client });
  const readPast = async (value: RawValue): Promise<unknown[]> => {
    const strange = toAccountName(randomUUID());
    const lease = { account: strange, scope: toScope(''), credentialId: 'x' };
    const subscription = { account: strange, eventType: 'status_changed' } as const;
    const memo = { lease: value, subscription: value };
    const start = (workflowId: string) => client.workflow.start('strange', { workflowId, taskQueue: 'unserved', memo });
    const handles = await Promise.all([start(accessTokenId(lease)), start(subscriptionId(subscription))]);
    const seen = await Promise.all([leases.read(lease), port.readSubscription(subscription)]);
    await Promise.all(handles.map((handle) => handle.terminate()));
    return seen;
  };
  const { '1.9 MB': _tooBigForTheStore, ...others }: Record<string, RawValue> = { ...undecodable, ...readable };
  const forms = { ...others, 'key of others': await encrypted(raw('{}')) };
  const seen = await Promise.all(Object.values(forms).map(readPast));
  expect(seen).toEqual(seen.map(() => [null, { accepted: [] }]));
});

interface Definition {
  type: 'signal' | 'update' | 'query';
  name: string;
}

/** What a run says itself that it takes. */
async function messagesOf(handle: WorkflowHandle): Promise<Definition[]> {
  const { definition } = await handle.query<{ definition: Record<string, { name: string }[]> }>(
    '__temporal_workflow_metadata',
  );
  const named = (kind: Definition['type']) =>
    (definition[`${kind}Definitions`] ?? []).map(({ name }): Definition => ({ type: kind, name }));
  return [...named('signal'), ...named('update'), ...named('query')].filter(({ name }) => !name.startsWith('__'));
}

/** One run of each type that takes messages. */
async function startAll() {
  const { client, config } = stack;
  const { taskQueue } = config;
  const about = stack.newOrder('business', [['Completed', 0]]);
  const parked = { account, ...newDelivery(), reason: 'noOrderId', sealed: 'x' };
  const parkedStart = { workflowId: parkedDeliveryId(parked), taskQueue, args: [parked] };
  const orderId = stack.newOrder('business', [['Driving', 0]]);
  const { handle: ride } = await rideUnderWay(stack);
  return {
    orderId,
    order: await stack.follow('business', orderId),
    report: await reported(stack, { orderId: about, deliveries: [] }),
    ride,
    subscription: await subscribe(stack),
    lease: await startLease(),
    watch: client.workflow.getHandle(accountWatchId(account, taskQueue)),
    parked: await client.workflow.start('parkedDelivery', parkedStart),
    notices: await startNotices(stack, 'https://elsewhere.example/', 1, { quietMs: 600_000 }),
  };
}

const startLease = (more?: Partial<AccessTokenInput>) =>
  stack.client.workflow.start('accessToken', leaseStart(stack, more));

async function nextToken(lease: WorkflowHandle, insteadOf: string | null): Promise<string> {
  await lease.signal('renewToken', { insteadOf });
  return await vi.waitFor(async () => {
    const { token = null } = ((await lease.describe()).memo?.lease ?? {}) as Partial<TokenLease>;
    if (token === null || token.id === insteadOf) throw new Error('no other token yet');
    return token.id;
  }, patient);
}

it.concurrent('a run continues as new before the server takes no more signals, though it can use none of them', async () => {
  const orderId = stack.newOrder('business', [['Driving', 0]]);
  const limits = { maxEvents: 10, maxSignals: 30 };
  const order = await stack.follow('business', orderId, {}, limits);
  const lease = await startLease({ maxEvents: 20 });
  const about = stack.newOrder('business', [['Completed', 0]]);
  const report = await reported(stack, { orderId: about, deliveries: [], limits: { ...limits, quietMs: 600_000 } });
  const notices = await startNotices(stack, 'https://elsewhere.example/', 1, { maxEvents: 20, quietMs: 600_000 });
  await Promise.all(
    [order, lease, report, notices].map(async (run) => {
      const handle = stack.client.workflow.getHandle(run.workflowId);
      for (let sent = 0; sent < 45; sent += 1)
        await handle.signal(sent % 2 === 0 ? 'noSuchSignal' : 'deliveryReceived', undecodable.NaN);
      await continued(run);
      await handle.terminate();
    }),
  );
});

describe.concurrent('runs of every type', () => {
  let runs: Awaited<ReturnType<typeof startAll>>;
  let handles: WorkflowHandle[];
  let taken: Definition[][];
  beforeAll(async () => {
    runs = await startAll();
    const { order, report, ride, subscription, lease, watch, parked, notices } = runs;
    handles = [order, report, ride, subscription.handle, lease, watch, parked, notices];
    taken = await Promise.all(handles.map(messagesOf));
  });

  /** One after the other at each run, and all runs at once. */
  const send = async (
    kind: Definition['type'],
    forms: Record<string, RawValue>,
    act: (handle: WorkflowHandle, name: string, value: RawValue) => Promise<unknown>,
  ): Promise<[string, string][]> => {
    const outcomes: [string, string][] = [];
    const toRun = async (handle: WorkflowHandle, index: number): Promise<void> => {
      for (const { type, name } of taken[index] ?? [])
        for (const [form, value] of Object.entries(type === kind ? forms : {}))
          outcomes.push([`${name}, ${form}`, await refusal(act(handle, name, value))]);
    };
    await Promise.all(handles.map(toRun));
    return outcomes;
  };

  it.sequential('take all the messages that the code defines', async () => {
    const isTaken = ({ type, name }: Definition) => taken.flat().some((one) => one.type === type && one.name === name);
    expect(
      Object.values(messages)
        .filter((one) => !isTaken(one))
        .map(({ name }) => name),
    ).toEqual([]);
  });

  it.sequential('refuse updates that cannot be decoded, or are of no shape', async () => {
    const forms = { ...undecodable, ...misshapen };
    const outcomes = await send('update', forms, (handle, name, value) =>
      handle.executeUpdate(name, { args: [value] }),
    );
    expect(outcomes.length).toBeGreaterThan(150);
    expect(notRefused(outcomes, /^InvalidInput [\w.]+: /)).toEqual([]);
    const keyOfOthers = { 'key of others': await encrypted(raw('{}')) };
    const unread = await send('update', keyOfOthers, (handle, name, value) =>
      handle.executeUpdate(name, { args: [value] }),
    );
    expect(notRefused(unread, /a key that is not held/)).toEqual([]);
    const events = (await Promise.all(handles.map(eventsOf))).flat();
    expect(events.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes)).toEqual([]);
    expect(await refusal(runs.order.executeUpdate('noSuchUpdate', { args: [raw('')] }))).not.toBe('taken');
  });

  it.sequential('go on after signals that cannot be decoded, or are of no shape', { timeout: 600_000 }, async () => {
    const first = await nextToken(runs.lease, null);
    await send('signal', { ...undecodable, ...readable }, (handle, name, value) => handle.signal(name, value));
    await Promise.all(handles.map((handle) => handle.signal('noSuchSignal', undecodable.NaN)));

    expect(await nextToken(runs.lease, first)).not.toBe(first);
    await runs.subscription.active();
    const rotated = await runs.subscription.handle.executeUpdate('rotateSubscription');
    expect(rotated).toMatchObject({ state: 'active', generations: [{ state: 'current' }, { state: 'replaced' }] });
    await deliver(runs.order, deliveryOf('Completed'));
    stack.sandbox.setStatus('business', runs.orderId, 'Completed'); // a poll may find it before any delivery
    const received = Object.keys({ ...undecodable, ...readable }).length + 1;
    expect(await runs.order.result()).toMatchObject({ outcome: 'completed', deliveries: { received } });
    await deliver(runs.report, deliveryOf('Completed'));
    await vi.waitFor(
      async () => expect(await runs.report.query('reportStatus')).toMatchObject({ deliveries: { received } }),
      patient,
    );
    await runs.ride.executeUpdate('cancelRide');
    expect(await runs.ride.result()).toMatchObject({ outcome: 'cancelled' });
    await runs.parked.executeUpdate('discardDelivery', { args: [{ reason: 'recorded' }] });
    expect(await runs.parked.result()).toMatchObject({ outcome: 'discarded' });
    await Promise.all([runs.report, runs.subscription.handle, runs.lease].map((handle) => handle.terminate()));
  });
});
