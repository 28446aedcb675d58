import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import { parkedDeliveryId, subscriptionId } from '../../src/domain/workflow-ids.js';
import { nowhere, runHere } from '../cli/fake-process.js';
import { newRide } from '../dev/sandbox/booking-calls.js';
import { newDelivery } from '../support/delivery/deliveries.js';
import { jsonFile } from '../support/json-file.js';
import { startNotices } from '../support/notify/notices.js';
import { useNotifyReceiver } from '../support/notify/receiver.js';
import { useOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { account, completes, goesOn, requestedRide } from '../support/ride/rides.js';
import { webhookEnv } from '../support/subscription/subscriptions.js';

const receiver = useNotifyReceiver();
const stack = useOrderStack(() => ({ env: { ...webhookEnv(), ...receiver.env } }));
afterEach(() => {
  stack.sandbox.clearFaults();
  stack.sandbox.setRideSettings({ script: null });
});

const shell = () => ({
  TEMPORAL_ADDRESS: inject('temporalAddress'),
  FARETRAIL_TASK_QUEUE: stack.config.taskQueue,
  PATH: '',
});
const cli = (...argv: string[]) => runHere(argv, shell());

/** What a command printed as JSON, a line each: its answer, or its error. */
async function told(...argv: string[]) {
  const { exitCode, stdout, stderr } = await cli(...argv, '--json');
  const lines = (stdout || stderr).trim().split('\n');
  return { exitCode, lines: lines.map((line) => JSON.parse(line)) };
}
const refused = (code: string, message: string | RegExp = '') => ({
  exitCode: 1,
  lines: [{ error: { code, message: expect.stringMatching(message) } }],
});

const orderFile = jsonFile(newRide());
const ride = (verb: string, id: string, ...more: string[]) => ['ride', verb, 'business', id, ...more];
const request = (id: string, ...more: string[]) =>
  ['ride', 'request', 'business', '--input', orderFile, '--request-id', id, ...more] as const;
const ordersOf = (id: string) => stack.sandbox.createdOrders().filter(({ requestId }) => requestId?.endsWith(id));
/** The next create makes its order and loses the answer. */
function loseNextCreate(): void {
  stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
}

describe('the commands of rides', () => {
  it('show a ride whose create had an unknown outcome with what to do, and give it up', async () => {
    loseNextCreate();
    const id = randomUUID();
    await cli(...request(id));
    expect(await told(...ride('cancel', id))).toMatchObject(refused('OutcomeUnknown'));
    const given = await cli(...ride('resolve', id, '--give-up', 'booked by phone'));
    expect(given).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('ended') });
    // The answer comes a moment before the run has ended.
    await expect.poll(() => told(...request(id))).toMatchObject(refused('OutcomeUnknown', /phone/));
  });

  it('show, watch and list rides with who decided what, print why a change is refused, and order nothing again', async () => {
    stack.sandbox.setRideSettings({ script: goesOn });
    const id = randomUUID();
    await cli(...request(id, '--as', 'anna'));
    const change = jsonFile({ note_to_driver: 'blue door' });
    expect(await told(...ride('update', id, '--input', change))).toMatchObject(refused('Refused', /HTTP 422/));
    expect(await told(...ride('resolve', id, '--try-again'))).toMatchObject(refused('AlreadyDecided'));
    expect((await told(...ride('show', id))).lines).toMatchObject([{ state: 'running', ride: { requestId: id } }]);
    await cli(...ride('cancel', id, '--as', 'Ben Example'));
    expect((await told(...ride('watch', id))).lines.at(-1)).toMatchObject({ change: 'ended' });
    const [shown] = (await told(...ride('show', id))).lines;
    expect(shown).toMatchObject({ state: 'completed', ride: null, result: { outcome: 'cancelled' }, failure: null });
    expect(shown.decisions.map(({ what, by }: Record<string, string>) => [what, by])).toEqual([
      ['start', 'anna'],
      ['updateRide', 'tester'],
      ['cancelRide', 'Ben Example'],
    ]);
    const { stdout } = await cli(...ride('show', id));
    expect(stdout).toMatch(
      /: cancelled\n[\s\S]+completed at \S+ \S+ UTC\n.+ start by anna\n.+\n.+ cancelRide by Ben Example\n$/,
    );
    expect((await told(...request(id))).lines).toMatchObject([
      { state: 'alreadyEnded', result: { outcome: 'cancelled' } },
    ]);
    const late = await cli(...ride('cancel', id));
    expect(late).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('has already ended') });
    expect(ordersOf(id)).toHaveLength(1);
    // The rides of other files stand in the list, too, the running ones first.
    const listed = async () => (await told('ride', 'list', '--account', 'business', '--limit', '1000')).lines[0].rides;
    await expect.poll(listed).toContainEqual(expect.objectContaining({ requestId: id, state: 'completed' }));
  });

  it('end with 3 for a ride that Temporal does not know', async () => {
    for (const verb of ['cancel', 'show', 'watch'])
      expect(await cli(...ride(verb, randomUUID()))).toMatchObject({ exitCode: 3 });
  });
});

describe('the command call', () => {
  const call = (...argv: string[]) => ['call', 'business', ...argv] as const;

  it('carries out an operation and prints its outcome', async () => {
    const { exitCode, stdout, stderr } = await cli(...call('companySettings'));
    expect({ exitCode, stdout }).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('companySettings: done (HTTP 200)'),
    });
    expect(stdout).toContain('mandatory_destination');
    expect(stderr).toMatch(/key {7}[0-9a-f-]{36}/);
  });

  it('shows the first outcome when it is used twice with one key, and says so', async () => {
    const key = `trip-${randomUUID()}`;
    const given = call('createOrder', '--input', orderFile, '--key', key);
    const [first] = (await told(...given)).lines;
    expect(first).toMatchObject({ state: 'started', result: { status: 201, orderId: expect.any(String) } });
    const again = await cli(...given);
    expect(again).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('This key was used before') });
    expect(again.stdout).toContain(first.result.orderId);
    expect(ordersOf(key)).toHaveLength(1);
  });

  it('tells a failure with its code, the remedy and the words of the service', async () => {
    const input = jsonFile(newRide({ product_id: randomUUID() }));
    const words = /product_not_found.*use another key/;
    expect(await told(...call('createOrder', '--input', input))).toMatchObject(refused('Refused', words));
  });

  it('refuses a bad body before anything is started', async () => {
    const { exitCode, stderr } = await cli(...call('createOrder', '--input', jsonFile(newRide({ stops: [] }))));
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('body.stops: must hold') });
  });
});

describe('the option --notify', () => {
  const notify = (...paths: string[]) => paths.flatMap((path) => ['--notify', `${receiver.origin}${path}`]);

  it('of order follow tells each URL, also of an order that is followed already', async () => {
    const orderId = stack.newOrder('business', [['Routing', 0]]);
    const follow = (...paths: string[]) => cli('order', 'follow', 'business', orderId, ...notify(...paths));
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
    stack.sandbox.setRideSettings({ script: completes });
    expect(await cli(...request(randomUUID(), ...notify('/ride')))).toMatchObject({ exitCode: 0 });
    await expect.poll(() => receiver.taken('/ride').at(-1)).toBe('Completed');
  });

  it('names a workflow by id and signal', async () => {
    const orderId = stack.newOrder('business', [['Completed', 0]]);
    await cli('order', 'follow', 'business', orderId, '--notify', 'trip:9:orderChanged');
    const handle = stack.client.workflow.getHandle(`order/business/${orderId}`);
    await handle.result();
    const { events } = await handle.fetchHistory();
    const sent = events?.flatMap((event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes ?? []);
    expect(sent).toMatchObject([{ workflowExecution: { workflowId: 'trip:9' }, signalName: 'orderChanged' }]);
  });

  it.each(['orders', 'ftp://x/', ':signal', 'workflow:', 'http://'])('does not take %s', async (who) => {
    const { exitCode, stderr } = await runHere(['order', 'follow', 'partner', '42', '--notify', who], nowhere);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringMatching(/notify/) });
  });
});

describe('the commands notice list and notice resend', () => {
  interface Listed {
    id: string;
    status: number;
    state: string;
  }
  const host = () => new URL(receiver.origin).host;
  const listed = async (...argv: string[]): Promise<Listed[]> => (await told('notice', ...argv)).lines[0].notices;

  it('show what a receiver refused, and send it again under the same id: one, then by filter, each once', async () => {
    const path = `/${randomUUID()}/s3cret`;
    receiver.answer(path, 400, 403, 500, 204);
    const run = await startNotices(stack, receiver.origin + path, 3);
    const requests = () => receiver.received.filter((one) => one.path === path);
    const numbers = () => receiver.taken(path);
    await expect.poll(numbers).toEqual(['3']);
    const missed = await vi.waitFor(async () => {
      const all = await listed('list', '--receiver', host());
      expect(all.map(({ status }) => status)).toEqual([400, 403]);
      return all;
    }, patient);
    const { stdout } = await cli('notice', 'list', '--since', '1h');
    expect(stdout).toMatch(new RegExp(`^20.+ ${host()} +HTTP 400 +order.changed +${missed[0]?.id}$`, 'm'));
    expect(stdout + JSON.stringify(missed)).not.toContain('s3cret');
    // Other tests miss notices on the same server, too.
    for (const filter of ['--receiver', '--account']) expect(await listed('list', filter, randomUUID())).toEqual([]);

    const second = String(missed[1]?.id);
    const both = await Promise.all([listed('resend', second), cli('notice', 'resend', second)]);
    expect(both[0]).toMatchObject([{ id: second, status: 403, state: 'resent' }]);
    await expect.poll(numbers).toEqual(['3', '2']);
    const again = async () => (await told('notice', 'resend', second)).lines[0];
    await expect.poll(again).toMatchObject({ error: { code: 'NotMissed' } }); // the list is a moment late

    expect(await listed('resend', '--receiver', host())).toMatchObject([{ id: missed[0]?.id }]);
    expect(await run.result()).toEqual({ missed: null });
    expect(numbers()).toEqual(['3', '2', '1']);
    const ids = requests().map(({ id }) => id);
    expect(ids).toEqual([ids[0], ids[1], ids[2], ids[2], ids[1], ids[0]]);
    expect(new Set(ids).size).toBe(3);
  });
});

// The last one: an account whose credentials were rejected rests for a minute.
describe('the command attention', () => {
  const attention = ['attention', '--account', account, '--limit', '1000'] as const;
  const listed = async (): Promise<Record<string, unknown>[]> => (await told(...attention)).lines[0].runs;

  /** The list shows the run like this, until the run has ended. */
  async function shows(run: Pick<WorkflowHandle, 'workflowId' | 'terminate'>, shown: object): Promise<void> {
    const found = async () => (await listed()).find(({ workflowId }) => workflowId === run.workflowId);
    await expect.poll(found).toMatchObject(shown);
    await run.terminate();
  }

  it('shows an order with what is wrong, since when, and what helps', async () => {
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    stack.sandbox.setFault({ kind: 'forbidden', orderId });
    const handle = await stack.follow('business', orderId);
    const line = new RegExp(`^order +business +${orderId} +forbidden +20.* order show business`, 'm');
    await expect.poll(async () => (await cli(...attention)).stdout).toMatch(line);
    await shows(handle, {
      kind: 'order',
      account,
      id: orderId,
      code: 'forbidden',
      message: expect.stringContaining('403'),
      since: expect.stringMatching(/Z$/),
      command: `order show business ${orderId}`,
    });
  });

  it('shows a ride whose create had an unknown outcome', async () => {
    loseNextCreate();
    const { handle, requestId } = await requestedRide(stack);
    await shows(handle, {
      kind: 'ride',
      id: requestId,
      code: 'outcomeUnknown',
      message: expect.stringContaining(`faretrail ride resolve business ${requestId}`),
      command: `ride resolve business ${requestId}`,
    });
  });

  it('shows a delivery that is parked', async () => {
    const parked = { account, ...newDelivery(), reason: 'noOrderId', sealed: 'x' };
    const { deliveryId: id, receivedAt: since } = parked;
    const start = { workflowId: parkedDeliveryId(parked), taskQueue: stack.config.taskQueue, args: [parked] };
    const handle = await stack.client.workflow.start('parkedDelivery', start);
    await shows(handle, { kind: 'parked', id, code: 'noOrderId', since });
  });

  it('shows as many rows as are asked for, whatever they are about, and says that there are more', async () => {
    const handles = await Promise.all(
      [1, 2, 3].map(async () => {
        const parked = { account, ...newDelivery(), reason: 'noOrderId', sealed: 'x' };
        const start = { workflowId: parkedDeliveryId(parked), taskQueue: stack.config.taskQueue, args: [parked] };
        return await stack.client.workflow.start('parkedDelivery', start);
      }),
    );
    await expect.poll(async () => (await listed()).length).toBeGreaterThanOrEqual(3);
    const { stdout, stderr } = await cli('attention', '--account', account, '--limit', '2');
    expect(stdout.trim().split('\n')).toHaveLength(3);
    expect(stderr).toMatch(/There are .* parked deliveries; 2 are listed\.\n$/);
    await Promise.all(handles.map((handle) => handle.terminate()));
  });

  it('shows a subscription that waits for a token, and the token or the watch of the account, while credentials are refused', async () => {
    stack.sandbox.setFault({ kind: 'invalidClient' });
    const key = { account, eventType: 'business_report' as const };
    const handle = await stack.client.workflow.start('subscription', {
      workflowId: subscriptionId(key),
      taskQueue: stack.config.taskQueue,
      args: [{ ...key, publicUrl: 'http://127.0.0.1:9' }],
    });
    const wrong = {
      code: 'credentialsRejected',
      message: expect.any(String),
      since: expect.any(String),
      command: 'token list',
    };
    // The watch shows it for the whole account, if an order is live.
    const ofAccount = async () => (await listed()).filter(({ id }) => id === 'unscoped' || id === account);
    await expect.poll(ofAccount).toContainEqual(expect.objectContaining(wrong));
    await shows(handle, { kind: 'subscription', id: 'business_report', ...wrong });
  });
});
