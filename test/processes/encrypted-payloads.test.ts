import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, WorkflowNotFoundError } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { findLeaks } from '../../dev/faults/chaos/leaks.js';
import { fakeDriver } from '../../dev/sandbox/order/bodies.js';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { createFaretrailClient } from '../../src/client/index.js';
import { toOrderId } from '../../src/domain/keys.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import type { RideStanding } from '../../src/domain/ride/ride.js';
import { inMs, newRide, stop } from '../dev/sandbox/booking-calls.js';
import { startCall } from '../support/call/calls.js';
import { deliver } from '../support/delivery/deliveries.js';
import { type FollowHandle, shows, trailOf } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { createRandom } from '../support/random.js';
import { failureOf, lifeOf, requestedRide, stands } from '../support/ride/rides.js';
import { detailsOf } from '../support/runs.js';
import { tracesOf } from '../support/traces.js';
import { type IngressProcess, runStarter, startIngressProcess, startWorkerProcess } from '../support/worker/process.js';
import { active, type DeliveryScene, openDeliveryScene } from './delivery-scene.js';

const random = createRandom();

const payloadKeys = `p1:${randomBytes(32).toString('base64url')}`;
const noKeys = { FARETRAIL_ENCRYPT_PAYLOADS: '', FARETRAIL_PAYLOAD_KEYS: '' };

let scene: DeliveryScene;
let ingress: IngressProcess;
let metricsPort: number;
let endedRide: { orderId: string; workflowId: string };
/** An order that is followed from the first test to the last. */
let longOrder: FollowHandle;

beforeAll(async () => {
  metricsPort = await freePort();
  scene = await openDeliveryScene({
    FARETRAIL_ENCRYPT_PAYLOADS: 'true',
    FARETRAIL_PAYLOAD_KEYS: payloadKeys,
    FARETRAIL_METRICS_PORT: String(metricsPort),
    FARETRAIL_LOG_LEVEL: 'debug',
  });
  ingress = await scene.startIngress();
  scene.fleet.sandbox.setRideSettings({ script: lifeOf(['Reserved']) });
}, 600_000);
afterAll(() => scene?.close(), 60_000);

const place = () => scene.fleet.place;

const driver = {
  driverName: fakeDriver.name,
  driverPhone: fakeDriver.phone,
  driverPicture: fakeDriver.image_url,
  driverPlate: fakeDriver.vehicle.license_plate,
};

/** A passenger with a mark of its own, so that the search finds it anywhere. */
function newPassenger() {
  const mark = randomUUID().slice(0, 8);
  const phone = `1555${String(Math.floor(random() * 1e9)).padStart(9, '0')}`;
  const words = { note: `ring for ${mark}`, change: `knock at ${mark}` };
  return { name: `Pat ${mark}`, phone, address: `${mark} Street 7`, ...words };
}

/** A ride that is changed and cancelled, to its receipt. */
async function takeRide({ name, phone, address, note, change }: ReturnType<typeof newPassenger>) {
  const user = { name, phone };
  const at = { lat: 52.5, lng: 13.4, full_address: address };
  const stops = [stop('origin', 'pick_up', at, { user }), stop('destination', 'drop_off', at, { user })];
  const order = newRide({ stops, scheduled_at: inMs(3_600_000), note_to_driver: note });
  const { handle } = await requestedRide(place(), { order, receipt: true });
  await stands(handle, { stage: 'following', status: 'Reserved' });
  await handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: change } }] });
  await handle.executeUpdate('cancelRide');
  expect(await handle.result()).toMatchObject({ outcome: 'cancelled', receipt: { payment_summary: {} } });
}

const typedClient = (client = place().client) => createFaretrailClient({ client, taskQueue: place().config.taskQueue });

/** A read that sends an address. */
async function askForProducts(address: string, client = place().client): Promise<void> {
  const body = { origin: { lat: 52.5, lng: 13.4, full_address: address } };
  const read = { account: 'business', operation: 'products', key: randomUUID(), body } as const;
  expect(await typedClient(client).call(read)).toMatchObject({ status: 200 });
}

const idOf = ({ workflowId }: FollowHandle): string => workflowId.slice(workflowId.lastIndexOf('/') + 1);

/** The trail once it shows a driver and that a change was delivered. */
async function deliveredTrail(handle: FollowHandle, orderId: string): Promise<OrderTrail> {
  await shows(handle, { status: 'Waiting' });
  scene.fleet.sandbox.setStatus('business', orderId, 'Driving');
  await shows(handle, { status: 'Driving', deliveries: { received: 1 } });
  return await trailOf(handle);
}

const shown = (answer: unknown): Record<string, Buffer> => ({ shown: Buffer.from(JSON.stringify(answer)) });

const traces = () => tracesOf(scene.fleet, { databaseFile: scene.databaseFile, metricsPort });

/** A payload as JSON has it: base64. */
interface RawPayload {
  metadata: Record<string, string>;
  data: string;
}

const textOf = ({ data }: RawPayload): string => Buffer.from(data, 'base64').toString();

/** All payloads within a history as JSON. */
function payloadsIn(json: unknown): RawPayload[] {
  if (typeof json !== 'object' || json === null) return [];
  if ('metadata' in json && 'data' in json) return [json as RawPayload];
  return Object.values(json).flatMap(payloadsIn);
}

/** Where in a history payloads stand in clear. */
function clearPayloads(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { encoding } = (value as { metadata?: { encoding?: string } }).metadata ?? {};
  if (encoding === undefined)
    return Object.entries(value).flatMap(([name, inner]) => clearPayloads(inner, `${path}/${name}`));
  return Buffer.from(encoding, 'base64').toString() === 'binary/encrypted' ? [] : [path];
}

it('with encryption on, no person is found in database, histories, logs or metrics, and callers with the key see all', async () => {
  await active(await scene.subscribe('status_changed', ingress.url));
  const passenger = newPassenger();
  [longOrder = expect.fail('no run')] = await scene.fleet.followOrders(1, [['Waiting', 0]], ['business']);
  const orderId = idOf(longOrder);
  const [trail] = await Promise.all([deliveredTrail(longOrder, orderId), takeRide(passenger)]);
  expect(trail.details).toMatchObject({
    driver: { name: driver.driverName, phone: driver.driverPhone, imageUrl: driver.driverPicture },
    vehicle: { licensePlate: driver.driverPlate },
  });
  const about = { orderId: toOrderId(orderId) };
  const looked = await (await startCall(place(), 'orderDetails', about)).result();
  expect(looked.body).toMatchObject({ supplier: { driver: { name: driver.driverName } } });
  const key = randomUUID();
  const read = await typedClient().call({ account: 'business', operation: 'orderDetails', key, orderId });
  expect(read.body).toMatchObject({ supplier: { driver: { name: driver.driverName } } });
  await askForProducts(passenger.address);
  const refused = await failureOf((await startCall(place(), 'cancelOrder', about)).result());
  expect(refused.message).toContain('order_not_cancellable');
  const { errors } = await runStarter(['call', 'business', 'cancelOrder', '--order', orderId], scene.fleet.env);
  expect(errors).toContain('The service says: "');

  const found = await traces();
  const runs = Object.keys(found).filter((where) => /^(call|order|ride|subscription|token)\//.test(where));
  expect(runs.length).toBeGreaterThan(7);
  expect(findLeaks({ ...passenger, ...driver }, found)).toEqual([]);
  const { logs: _, ...kept } = found; // logs may hold the short code of the service
  expect(findLeaks({ refusal: 'order_not_cancellable' }, kept)).toEqual([]);
  const histories = Object.entries(found).filter(([where]) => /^[^ ]*\//.test(where));
  const inClear = histories.flatMap(([where, text]) => clearPayloads(JSON.parse(text.toString()), where));
  // The other is a word of the server itself: "the activity had not begun when it was cancelled".
  // The SDK notes in clear the name of a patch, and of a local activity its type and times; its result is encrypted.
  const isOfSdk = /\/markerRecordedEventAttributes\/details\/(patch-data|data)\//;
  const isKnown = /\/searchAttributes\/|activityTaskCanceledEventAttributes/;
  expect(inClear.filter((path) => !isKnown.test(path) && !isOfSdk.test(path))).toEqual([]);
}, 600_000);

it('once a run has ended no caller with the key finds the driver in its result or answers, nor in those of its ride; one that was terminated keeps it', async () => {
  const runs = await scene.fleet.followOrders(4, [['Waiting', 0]], ['business']);
  const [completed, stopped, cancelled, terminated] = runs as [FollowHandle, FollowHandle, FollowHandle, FollowHandle];
  scene.fleet.sandbox.setRideSettings({ script: lifeOf(['Confirmed']) });
  const { handle: ride } = await requestedRide(place(), { order: newRide() });
  await stands(ride, { stage: 'following', status: 'Confirmed' });
  scene.fleet.sandbox.setRideSettings({ script: lifeOf(['Reserved']) });
  const { orderId } = await ride.query<RideStanding>('rideStatus');
  const ofRide = place().client.workflow.getHandle(`order/business/${orderId}`);
  const answersOf = async (run: typeof ofRide) => [await trailOf(run), await detailsOf(run)];
  const leaksOf = async (run: typeof ofRide) => findLeaks(driver, shown(await answersOf(run))).length;
  for (const run of [...runs, ofRide]) await vi.waitFor(async () => expect(await leaksOf(run)).toBe(4), patient);

  scene.fleet.sandbox.setStatus('business', idOf(completed), 'Completed');
  scene.fleet.sandbox.setStatus('business', orderId ?? '', 'Completed');
  await cancelled.cancel();
  await expect(cancelled.result()).rejects.toThrow();
  await terminated.terminate();
  const answers = [await stopped.executeUpdate('stopFollowing', { args: [{ reason: 'test' }] })];
  for (const run of [completed, stopped, ofRide, ride]) answers.push(await run.result());
  expect(answers.slice(1)).toMatchObject([
    { outcome: 'completed' },
    { outcome: 'stopped' },
    { outcome: 'completed' },
    { trail: { details: { supplier: { code: '4711' } } } },
  ]);
  for (const run of [completed, stopped, cancelled, ofRide]) answers.push(...(await answersOf(run)));
  expect(findLeaks(driver, shown(answers))).toEqual([]);
  expect(await leaksOf(terminated)).toBe(4);
  endedRide = { orderId: orderId ?? '', workflowId: ride.workflowId };
}, 600_000);

it('erase finds encrypted rides with the key, names the setting without it, and removes them', async () => {
  const { orderId, workflowId } = endedRide;
  await typedClient().call({ account: 'business', operation: 'orderDetails', key: 'read', orderId });
  const read = 'call/business/orderDetails/read';
  const ended = `WorkflowId IN ('${workflowId}', '${read}') AND ExecutionStatus = 'Completed'`;
  await vi.waitFor(async () => expect((await place().client.workflow.count(ended)).count).toBe(2), patient);
  const erase = ['erase', 'business', orderId, '--yes', '--json'];
  const blind = await runStarter(erase, { ...scene.fleet.env, ...noKeys });
  expect(blind).toMatchObject({ code: 1, errors: expect.stringContaining('"code":"PayloadKeyMissing"') });
  const done = await runStarter(erase, scene.fleet.env);
  expect(done, done.errors).toMatchObject({ code: 0 });
  const ids = JSON.parse(done.output).erased.map((run: { workflowId: string }) => run.workflowId);
  expect(ids).toEqual([workflowId, read, `order/business/${orderId}`]);
  await expect(place().client.workflow.getHandle(workflowId).describe()).rejects.toThrow(WorkflowNotFoundError);
}, 600_000);

it("Temporal's tools get clear text from the codec endpoint, and from it alone", async () => {
  const codec = spawn(process.execPath, [join(projectRoot, 'dist/src/starter.js'), 'codec', '--json'], {
    env: { PATH: process.env.PATH, TZ: 'UTC', ...scene.fleet.env, FARETRAIL_CODEC_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void codec.kill('SIGKILL'));
  const [line] = await once(codec.stdout, 'data');
  const { url } = JSON.parse(String(line)) as { url: string };
  const history = await place().client.workflow.getHandle(longOrder.workflowId).fetchHistory();
  const payloads = payloadsIn(JSON.parse(historyToJSON(history)));
  // As the UI and the commands of Temporal ask: the payloads of the history, in one request.
  const answer = await fetch(`${url}/decode`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-namespace': 'default' },
    body: JSON.stringify({ payloads }),
  });
  const decoded = ((await answer.json()) as { payloads: RawPayload[] }).payloads;
  expect(findLeaks(driver, shown(payloads.map(textOf)))).toEqual([]);
  expect(findLeaks(driver, shown(decoded.map(textOf)))).toEqual(Object.keys(driver).map((name) => `shown: ${name}`));
  codec.kill('SIGTERM');
  await vi.waitFor(() => expect(codec.exitCode).toBe(0), patient);
}, 600_000);

it('without the key a worker, an ingress and a command name the missing setting, and lose nothing', async () => {
  await scene.fleet.workers.splice(0)[0]?.stop();
  const FARETRAIL_JOURNAL_DIR = mkdtempSync(join(tmpdir(), 'faretrail-blind-'));
  const blindEnv = { ...scene.fleet.env, ...noKeys, FARETRAIL_JOURNAL_DIR };
  const [worker, blindIngress] = await Promise.all([startWorkerProcess(blindEnv), startIngressProcess(blindEnv)]);
  onTestFinished(() => Promise.all([worker.stop(), blindIngress.stop()]).then(() => undefined), 60_000);
  const send = ['delivery', 'send', 'business', 'status_changed', '--order', 'any', '--status', 'Driving'];
  const [told, sent] = await Promise.all([
    runStarter(['subscription', 'list', '--json'], { ...scene.fleet.env, ...noKeys }),
    runStarter(send, { ...scene.fleet.env, FARETRAIL_PUBLIC_URL: blindIngress.url }),
    deliver(longOrder),
  ]);
  expect(told).toMatchObject({ code: 1, errors: expect.stringContaining('"code":"PayloadKeyMissing"') });
  expect(sent, 'the ingress takes the delivery').toMatchObject({ code: 0 });
  const remedy = 'a payload is encrypted with key \\"p1\\", which is not held: set FARETRAIL_PAYLOAD_KEYS';
  for (const blind of [worker, blindIngress]) await vi.waitFor(() => expect(blind.output()).toContain(remedy), patient);
}, 600_000);

it('with encryption off again, runs that began encrypted go on, and the same search finds a new passenger', async () => {
  Object.assign(scene.fleet.env, { FARETRAIL_ENCRYPT_PAYLOADS: 'false' });
  await scene.fleet.addWorker();
  const passenger = newPassenger();
  await takeRide(passenger);
  const asked = { readAddress: `${randomUUID()} Street` };
  await askForProducts(asked.readAddress, new Client({ connection: place().client.connection }));
  scene.fleet.sandbox.setStatus('business', idOf(longOrder), 'Completed');
  expect(await longOrder.result()).toMatchObject({ outcome: 'completed' });
  const found = await traces();
  expect(findLeaks(asked, found)).toContain('database: readAddress');
  const leaks = findLeaks({ ...passenger }, found);
  const inDatabase = Object.keys(passenger).map((name) => `database: ${name}`);
  expect(leaks).toEqual(expect.arrayContaining(inDatabase));
  expect(leaks.some((leak) => leak.startsWith('ride/'))).toBe(true);
}, 600_000);
