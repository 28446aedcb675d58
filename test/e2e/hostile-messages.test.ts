import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkflowFailedError, WorkflowHandle, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, type RawValue } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { toAccountName, toOrderId, toScope } from '../../src/domain/keys.js';
import type { TokenLease } from '../../src/domain/token-lease.js';
import {
  type AccessTokenKey,
  accessTokenId,
  companyReportId,
  parkedDeliveryId,
} from '../../src/domain/workflow-ids.js';
import { createSealer } from '../../src/sealing/sealer.js';
import * as workflows from '../../src/workflows/index.js';
import { type OrderStack, startOrderStack } from '../support/order-stack.js';
import { patient } from '../support/patience.js';
import { encryptedByOthers, misshapen, raw, undecodable } from '../support/raw-payloads.js';
import { goesOn, requestedRide, stands } from '../support/rides.js';
import { subscribe, webhookEnv } from '../support/subscriptions.js';

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack({ env: webhookEnv() });
});
afterAll(() => stack.close());

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

/** All of them at once, by what each is called. */
async function all(acts: [name: string, act: Promise<string>][]): Promise<[string, string][]> {
  return await Promise.all(acts.map(async ([name, act]): Promise<[string, string]> => [name, await act]));
}

const notRefused = (outcomes: [string, string][], wanted: RegExp) => outcomes.filter(([, said]) => !wanted.test(said));

describe('a start of any type', () => {
  it('with an input that cannot be decoded, or is of no shape, fails at once and says which field', async () => {
    const forms = Object.entries({ ...undecodable, ...readable });
    const outcomes = await all(
      types.flatMap((type) =>
        forms.map(([form, value]) => [`${type}, ${form}`, start(type, [value])] as [string, Promise<string>]),
      ),
    );
    expect(notRefused(outcomes, /^InvalidInput [\w.]+: /)).toEqual([]);
    const cannotBeRead = outcomes.filter(([name]) =>
      Object.keys(undecodable).some((form) => name.endsWith(`, ${form}`)),
    );
    expect(notRefused(cannotBeRead, /^InvalidInput input: cannot be decoded: /)).toEqual([]);
  });

  it('with a second argument that none of our runs has written fails, too', async () => {
    const second = {
      ...undecodable,
      text: 'text',
      carried: { carried: { trail: {} } },
      state: { state: {} },
      limits: { limits: { maxEvents: 'x' } },
      'no limits': { limits: 5 },
    };
    const outcomes = await all(
      types.flatMap((type) =>
        Object.entries(second).map(
          ([form, value]) => [`${type}, ${form}`, start(type, [{}, value])] as [string, Promise<string>],
        ),
      ),
    );
    expect(notRefused(outcomes, /^InvalidInput (progress|limits|maxEvents): /)).toEqual([]);
  });
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

/** Every message that the code defines. */
async function definitions(): Promise<Definition[]> {
  const folder = fileURLToPath(new URL('../../src/workflows/', import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('-messages.ts'),
  );
  const modules: Record<string, Definition>[] = await Promise.all(files.map((file) => import(`${folder}${file}`)));
  return modules.flatMap((module) => Object.values(module)).map(({ type, name }) => ({ type, name }));
}

/** One run of each type that takes messages. */
async function startAll() {
  const { client, config } = stack;
  const { taskQueue } = config;
  const about = toOrderId(stack.newOrder('business', [['Completed', 0]]));
  const reportStart = {
    workflowId: companyReportId({ account, about }),
    taskQueue,
    args: [{ account, orderId: about }],
  };
  const deliveryId = randomBytes(16).toString('hex');
  const receivedAt = new Date().toISOString();
  const parked = { account, eventType: 'status_changed', deliveryId, receivedAt, reason: 'noOrderId', sealed: 'x' };
  const parkedStart = { workflowId: parkedDeliveryId({ account, deliveryId }), taskQueue, args: [parked] };
  const orderId = stack.newOrder('business', [['Driving', 0]]);
  stack.sandbox.setBookingSettings({ script: goesOn });
  const ride = (await requestedRide(stack)).handle;
  await stands(ride, { stage: 'following' });
  return {
    orderId,
    order: await stack.follow('business', orderId),
    report: await client.workflow.start('companyReport', reportStart),
    ride,
    subscription: await subscribe(stack),
    lease: await startLease(),
    parked: await client.workflow.start('parkedDelivery', parkedStart),
  };
}

function leaseKey(): AccessTokenKey {
  const business = stack.config.accounts.find(({ name }) => name === account);
  const { keyedHash } = createSealer(stack.config.sealingKeys);
  const credentialId = keyedHash(business?.clientId ?? '', business?.clientSecret ?? '');
  return { account, scope: toScope('finance'), credentialId };
}

/** Under an id of nobody's lease. */
const startLease = (more: object = {}) =>
  stack.client.workflow.start('accessToken', {
    workflowId: `${accessTokenId(leaseKey())}-${randomUUID()}`,
    taskQueue: stack.config.taskQueue,
    args: [leaseKey()],
    ...more,
  });

async function nextToken(lease: WorkflowHandle, insteadOf: string | null): Promise<string> {
  await lease.signal('renewToken', { insteadOf });
  return await vi.waitFor(async () => {
    const { token = null } = ((await lease.describe()).memo?.lease ?? {}) as Partial<TokenLease>;
    if (token === null || token.id === insteadOf) throw new Error('no other token yet');
    return token.id;
  }, patient);
}

const delivery = (status: string) => ({
  deliveries: [{ deliveryId: randomUUID(), eventType: 'status_changed', receivedAt: new Date().toISOString(), status }],
});

describe('runs of every type', () => {
  let runs: Awaited<ReturnType<typeof startAll>>;
  let handles: WorkflowHandle[];
  let taken: Definition[][];
  beforeAll(async () => {
    runs = await startAll();
    const { order, report, ride, subscription, lease, parked } = runs;
    handles = [order, report, ride, subscription.handle, lease, parked];
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

  it('take all the messages that the code defines', async () => {
    const isTaken = ({ type, name }: Definition) => taken.flat().some((one) => one.type === type && one.name === name);
    expect((await definitions()).filter((one) => !isTaken(one)).map(({ name }) => name)).toEqual(['followRequested']); // comes with its handler
  });

  it('refuse updates that cannot be decoded, or are of no shape', async () => {
    const forms = { ...undecodable, ...misshapen, 'key of others': await encryptedByOthers(raw('{}')) };
    const outcomes = await send('update', forms, (handle, name, value) =>
      handle.executeUpdate(name, { args: [value] }),
    );
    expect(outcomes.length).toBeGreaterThan(150);
    expect(notRefused(outcomes, /^InvalidInput [\w.]+: /)).toEqual([]);
    expect(await refusal(runs.order.executeUpdate('noSuchUpdate', { args: [raw('')] }))).not.toBe('taken');
  });

  it('answer no query that cannot be decoded', async () => {
    const outcomes = await send('query', undecodable, (handle, name, value) => handle.query(name, value));
    expect(notRefused(outcomes, /input: cannot be decoded/)).toEqual([]);
  });

  it('go on after signals that cannot be decoded, or are of no shape', { timeout: 180_000 }, async () => {
    const first = await nextToken(runs.lease, null);
    const forms = { ...undecodable, ...readable, 'key of others': await encryptedByOthers(raw('{}')) };
    await send('signal', forms, (handle, name, value) => handle.signal(name, value));
    await Promise.all(handles.map((handle) => handle.signal('noSuchSignal', undecodable.NaN)));

    expect(await nextToken(runs.lease, first)).not.toBe(first);
    await runs.subscription.active();
    const rotated = await runs.subscription.handle.executeUpdate('rotateSubscription');
    expect(rotated).toMatchObject({ state: 'active', generations: [{ state: 'current' }, { state: 'replaced' }] });
    stack.sandbox.setStatus('business', runs.orderId, 'Completed');
    await runs.order.signal('deliveryReceived', delivery('Completed'));
    const received = Object.keys(readable).length + 1; // what cannot be decoded is no delivery
    expect(await runs.order.result()).toMatchObject({ outcome: 'completed', deliveries: { received } });
    await runs.report.signal('deliveryReceived', delivery('Completed'));
    await vi.waitFor(
      async () => expect(await runs.report.query('companyReport')).toMatchObject({ deliveries: { received } }),
      patient,
    );
    await runs.ride.executeUpdate('cancelRide');
    expect(await runs.ride.result()).toMatchObject({ outcome: 'cancelled' });
    await runs.parked.executeUpdate('discardDelivery', { args: [{ reason: 'recorded' }] });
    expect(await runs.parked.result()).toMatchObject({ outcome: 'discarded' });
    await Promise.all([runs.report, runs.subscription.handle, runs.lease].map((handle) => handle.terminate()));
  });
});
