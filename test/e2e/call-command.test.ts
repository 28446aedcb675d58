import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runHere } from '../cli/fake-process.js';
import { type WorkerEnv, workerEnv } from '../support/accounts.js';
import { newOrder } from '../support/call/calls.js';
import { jsonFile } from '../support/json-file.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';

const taskQueue = { FARETRAIL_TASK_QUEUE: `q-${randomUUID()}` };
let stack: OrderStack;
let env: WorkerEnv;
beforeAll(async () => {
  stack = await startOrderStack({ env: taskQueue });
  env = { ...workerEnv(stack.sandbox.url, taskQueue), TEMPORAL_ADDRESS: inject('temporalAddress') };
});
afterAll(() => stack.close());

const call = (...argv: string[]) => runHere(['call', 'business', ...argv], env);

describe('the command call', () => {
  it('carries out an operation and prints what came of it', async () => {
    const { exitCode, stdout, stderr } = await call('companySettings');
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringContaining('companySettings: done (HTTP 200)'),
    });
    expect(stdout).toContain('mandatory_destination');
    expect(stderr).toMatch(/key {7}[0-9a-f-]{36}/);
  });

  it('asked twice with one key shows the first outcome, and says so', async () => {
    const given = ['createOrder', '--input', jsonFile(newOrder()), '--key', `trip-${randomUUID()}`];
    const first = JSON.parse((await call(...given, '--json')).stdout);
    expect(first).toMatchObject({ state: 'started', result: { status: 201, orderId: expect.any(String) } });
    const again = await call(...given);
    expect(again).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('This key was used before') });
    expect(again.stdout).toContain(first.result.orderId);
    expect(stack.sandbox.createdOrders()).toHaveLength(1);
  });

  it('tells a failure with its code, the remedy and the words of the service', async () => {
    const input = jsonFile(newOrder({ product_id: randomUUID() }));
    const { exitCode, stdout, stderr } = await call('createOrder', '--input', input, '--json');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    const { code, message } = JSON.parse(stderr).error;
    expect(code).toBe('Refused');
    expect(message).toMatch(/PRODUCT_NOT_FOUND.*use another key.*The service says: "no such product/);
  });

  it('refuses a bad body before anything is started', async () => {
    const { exitCode, stderr } = await call('createOrder', '--input', jsonFile({ ...newOrder(), stops: [] }));
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('body.stops: must hold') });
  });
});
