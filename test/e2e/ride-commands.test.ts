import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { runHere } from '../cli/fake-process.js';
import { newRide } from '../sandbox/booking-calls.js';
import { jsonFile } from '../support/json-file.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';
import { completes, goesOn } from '../support/ride/rides.js';

let stack: OrderStack;
const orderFile = jsonFile(newRide());
beforeAll(async () => {
  stack = await startOrderStack();
});
afterAll(() => stack.close());
afterEach(() => {
  stack.sandbox.clearFaults();
  stack.sandbox.setBookingSettings({ script: null });
});

const cli = (...argv: string[]) =>
  runHere(argv, {
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    FARETRAIL_TASK_QUEUE: stack.config.taskQueue,
    PATH: '',
  });
const told = async (...argv: string[]) => {
  const { exitCode, stdout, stderr } = await cli(...argv, '--json');
  const lines = stdout.split('\n').filter((line) => line !== '');
  return { exitCode, stderr, json: lines.map((line) => JSON.parse(line)) };
};

it('a ride is ordered and watched to its end; the same request id orders nothing', async () => {
  stack.sandbox.setBookingSettings({ script: completes });
  const id = randomUUID();
  const ride = ['ride', 'request', 'business', '--input', orderFile, '--request-id', id];
  const watched = await told(...ride, '--watch');
  expect(watched, watched.stderr).toMatchObject({ exitCode: 0 });
  expect(watched.json[0]).toMatchObject({
    workflowId: `ride/business/${id}`,
    requestId: id,
    state: 'started',
    warnings: [],
  });
  expect(watched.json.at(-1)).toMatchObject({ change: 'ended', result: { outcome: 'completed' } });
  expect((await told(...ride)).json).toMatchObject([{ state: 'alreadyEnded', result: { outcome: 'completed' } }]);
  const late = await cli('ride', 'cancel', 'business', id);
  expect(late).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('has already ended') });
  expect(stack.sandbox.createdOrders().filter(({ requestId }) => requestId?.endsWith(id))).toHaveLength(1);
});

it('a ride is changed where the service allows it, with its words where not, and cancelled', async () => {
  stack.sandbox.setBookingSettings({ script: goesOn });
  const id = randomUUID();
  const started = await cli('ride', 'request', 'business', '--input', orderFile, '--request-id', id);
  expect(started).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`ride/business/${id}`) });
  const change = jsonFile({ note_to_driver: 'blue door' });
  const refused = await told('ride', 'update', 'business', id, '--input', change);
  expect(refused.exitCode).toBe(1);
  expect(JSON.parse(refused.stderr)).toMatchObject({
    error: { code: 'Refused', message: expect.stringMatching(/only a scheduled order/) },
  });
  const unasked = await told('ride', 'resolve', 'business', id, '--try-again');
  expect(JSON.parse(unasked.stderr)).toMatchObject({ error: { code: 'AlreadyDecided' } });
  const cancelled = await told('ride', 'cancel', 'business', id);
  expect(cancelled.json).toMatchObject([{ state: 'done', ride: { status: 'Cancelled', outcome: 'cancelled' } }]);
});

it('a ride whose create had an unknown outcome is shown with what to do, and given up', async () => {
  stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
  stack.sandbox.setFault({ kind: 'forbidden', operation: 'createOrder', times: 1 });
  const id = randomUUID();
  await cli('ride', 'request', 'business', '--input', orderFile, '--request-id', id);
  const cancel = () => told('ride', 'cancel', 'business', id);
  expect(JSON.parse((await cancel()).stderr)).toMatchObject({ error: { code: 'OutcomeUnknown' } });
  const given = await cli('ride', 'resolve', 'business', id, '--give-up', 'booked by phone');
  expect(given).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('ended') });
  const after = await told('ride', 'request', 'business', '--input', orderFile, '--request-id', id);
  expect(JSON.parse(after.stderr)).toMatchObject({
    error: { code: 'OutcomeUnknown', message: expect.stringMatching(/phone/) },
  });
});

it('wrong usage and unknown rides are told apart', async () => {
  expect(await cli('ride', 'request', 'business', '--input', '/nonexistent.json')).toMatchObject({ exitCode: 2 });
  expect(await cli('ride', 'request', 'business', '--input', jsonFile({ stops: [] }))).toMatchObject({ exitCode: 2 });
  expect(await cli('ride', 'request', 'business', '--input', orderFile, '--request-id', 'a/b')).toMatchObject({
    exitCode: 2,
  });
  expect(await cli('ride', 'resolve', 'business', 'x', '--try-again', '--order', '1')).toMatchObject({ exitCode: 2 });
  expect(await cli('ride', 'cancel', 'business', randomUUID())).toMatchObject({ exitCode: 3 });
});
