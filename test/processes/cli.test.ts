import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { runHere } from '../cli/fake-process.js';
import { type WorkerEnv, workerEnv } from '../support/accounts.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';
import { runStarter } from '../support/worker/process.js';

const shared: WorkerEnv = {
  FARETRAIL_TASK_QUEUE: `q-${randomUUID()}`,
  FARETRAIL_SEALING_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
};
const unserved = { FARETRAIL_TASK_QUEUE: `q-${randomUUID()}` };
let stack: OrderStack;
let env: WorkerEnv;

beforeAll(async () => {
  stack = await startOrderStack({ env: shared });
  env = { ...workerEnv(stack.sandbox.url, shared), TEMPORAL_ADDRESS: inject('temporalAddress') };
});
afterAll(() => stack.close());

/** The command line as it is installed. */
const run = (argv: string[], more: WorkerEnv = {}) => runStarter(argv, { ...env, ...more });
/** The same program in this process, where a process of its own would show nothing more. */
const here = (argv: string[], more: WorkerEnv = {}) => runHere(argv, { ...env, ...more });
const parse = (text: string) => JSON.parse(text) as Record<string, unknown>;

/** `order watch` in a process of its own, which a test can interrupt. */
function startWatch(orderId: string, ...options: string[]) {
  const argv = [join(projectRoot, 'dist/src/starter.js'), 'order', 'watch', 'partner', orderId, ...options];
  const child = spawn(process.execPath, argv, { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } });
  const said = { output: '', errors: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.errors += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...said }));
  return { child, output: () => said.output, ended };
}

describe('the command line beside a running worker', () => {
  it('follows an order once, watches it to its end, and shows its trail afterwards', async () => {
    const orderId = stack.newOrder('partner', [['Pending', 0]]);
    const follow = ['order', 'follow', 'partner', orderId, '--json'];
    const first = await run([...follow, '--reference', 'trip-9']);
    expect(first).toMatchObject({ code: 0, errors: '' });
    expect(parse(first.output)).toEqual({ workflowId: `order/partner/${orderId}`, state: 'started', warnings: [] });
    expect(parse((await run(follow)).output)).toMatchObject({ state: 'alreadyFollowed' });

    const watch = startWatch(orderId, '--json');
    await expect.poll(watch.output).toContain('Pending');
    stack.sandbox.setStatus('partner', orderId, 'Driving');
    await expect.poll(watch.output).toContain('Driving');
    stack.sandbox.setStatus('partner', orderId, 'Completed');
    const watched = await watch.ended;
    expect(watched).toMatchObject({ code: 0, errors: '' });
    const changes = watched.output.trim().split('\n').map(parse);
    expect(changes.map(({ change, status }) => status ?? change)).toEqual(['Pending', 'Driving', 'Completed', 'ended']);

    const again = await here(follow);
    expect(again.exitCode).toBe(0);
    const trail = { outcome: 'completed', reference: 'trip-9' };
    expect(parse(again.stdout)).toMatchObject({ state: 'alreadyEnded', trail });
    const shown = expect.stringMatching(/outcome +completed[\s\S]*\d\d:\d\d:\d\d {2}Completed +read/);
    expect(await here(['order', 'show', 'partner', orderId])).toMatchObject({ exitCode: 0, stdout: shown });
  });

  it('reads an order now, and stops following it with a reason', async () => {
    const orderId = stack.newOrder('business', [['Pending', 0]]);
    expect(await here(['order', 'follow', 'business', orderId])).toMatchObject({ exitCode: 0 });
    const refreshed = await here(['order', 'refresh', 'business', orderId, '--json']);
    expect(refreshed.exitCode).toBe(0);
    expect(parse(refreshed.stdout)).toMatchObject({ state: 'done', trail: { status: 'Pending', outcome: null } });
    const stopped = await here(['order', 'stop', 'business', orderId, '--reason', 'entered twice', '--json']);
    expect(stopped.exitCode).toBe(0);
    expect(parse(stopped.stdout)).toMatchObject({ trail: { outcome: 'stopped' } });
    const late = await here(['order', 'refresh', 'business', orderId]);
    expect(late).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('Following has already ended') });
  });

  it.each([['show'], ['watch'], ['refresh'], ['stop', '--reason', 'x']])(
    'ends "order %s" with 3 for an order that is not followed',
    async (...argv) => {
      const { exitCode, stdout, stderr } = await here(['order', ...argv, '--json', 'partner', 'never-followed']);
      expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
      expect(parse(stderr)).toMatchObject({ error: { code: 'NotFollowed' } });
    },
  );

  it('ends a watch with 1 when the run fails, shows why, and follows the order again', async () => {
    const orderId = stack.newOrder('partner', [['Pending', 0]]);
    const handle = await stack.follow('partner', orderId);
    const watch = startWatch(orderId, '--json');
    await expect.poll(watch.output).toContain('Pending');
    await handle.terminate('for the test');
    const { code, errors } = await watch.ended;
    expect(code).toBe(1);
    expect(parse(errors)).toEqual({ error: { code: 'Terminated', message: 'for the test' } });
    const shown = await here(['order', 'show', 'partner', orderId]);
    expect(shown).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Terminated: for the test') });
    const again = await here(['order', 'follow', 'partner', orderId]);
    expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Following again order /) });
    await stack.client.workflow.getHandle(handle.workflowId).terminate();
  });

  it('ends only the watching at Ctrl-C', async () => {
    const orderId = stack.newOrder('partner', [['Pending', 0]]);
    const handle = await stack.follow('partner', orderId);
    const watch = startWatch(orderId);
    await expect.poll(watch.output).toContain('Pending');
    watch.child.kill('SIGINT');
    expect(await watch.ended).toMatchObject({ code: 130, errors: expect.stringContaining('still followed') });
    expect((await handle.describe()).status.name).toBe('RUNNING');
    await handle.terminate();
  });

  it('lists orders by a status that holds a quote, no others, and says when there are more than the limit', async () => {
    const status = `it's odd ${randomUUID()}`;
    const orders = ['one', 'two'].map(() => stack.newOrder('business', [[status, 0]]));
    const handles = await Promise.all(orders.map((orderId) => stack.follow('business', orderId)));
    const list = (wanted: string, ...more: string[]) => here(['order', 'list', '--status', wanted, ...more]);
    const listed = async (wanted: string) => parse((await list(wanted, '--json')).stdout).orders;
    const one = { status, state: 'running' };
    await expect.poll(() => listed(status)).toMatchObject([one, one]);
    expect(await listed(`x' OR RideStatus = '${status}`)).toEqual([]);
    const limited = await list(status, '--running', '--account', 'business', '--limit', '1');
    expect(limited.stderr).toContain('There are more than 1');
    expect(limited.stdout.trim().split('\n')).toHaveLength(2);
    await Promise.all(handles.map((handle) => handle.terminate()));
  });
});

describe('tokens and the doctor', () => {
  it('find all well, and show no token, no secret and no sealed text', async () => {
    const doctor = await run(['doctor']);
    expect(doctor.output).not.toMatch(/^(FAIL|skip)/m);
    expect(doctor).toMatchObject({ code: 0, errors: '' });
    for (const name of ['settings', 'Temporal', 'worker', 'worker for partner', 'watch of business'])
      expect(doctor.output).toMatch(new RegExp(`^ok {4}${name} `, 'm'));
    const asked = stack.sandbox.issuedTokens();
    const listed = async () => (await here(['token', 'list', '--json'])).stdout;
    await expect.poll(listed).toMatch(/"scope":"order".*"state":"serving"/);
    const output = `${await listed()}${(await here(['token', 'list'])).stdout}${doctor.output}`;
    expect(stack.sandbox.issuedTokens()).toEqual(asked);
    expect(asked.length).toBeGreaterThan(0);
    for (const secret of [...asked, env.TEST_PARTNER_SECRET, env.TEST_BUSINESS_SECRET])
      expect(output).not.toContain(secret);
    expect(output).not.toContain('eyJ');
  });

  it('name a missing worker for each queue, with the remedy', async () => {
    const { exitCode, stdout } = await here(['doctor'], unserved);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}worker +no worker polls task queue q-\S+; start one/m);
    expect(stdout).toMatch(/^FAIL {2}worker for partner +no worker polls/m);
  });

  it('name a namespace that does not exist', async () => {
    const elsewhere = { TEMPORAL_NAMESPACE: 'no-such-place' };
    const fault = expect.stringMatching(/^FAIL {2}Temporal .*TEMPORAL_NAMESPACE: Temporal knows no such namespace/m);
    expect(await here(['doctor'], elsewhere)).toMatchObject({ exitCode: 1, stdout: fault });
    expect(await here(['order', 'list'], elsewhere)).toMatchObject({ exitCode: 2 });
  });
});

it('without a worker the command line warns, shows what Temporal knows, and changes nothing', async () => {
  const orderId = randomUUID();
  const started = await here(['order', 'follow', 'partner', orderId], unserved);
  expect(started).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`order/partner/${orderId}`) });
  expect(started.stderr.match(/warning: no worker polls task queue/g)).toHaveLength(2);
  const shown = await here(['order', 'show', 'partner', orderId], unserved);
  expect(shown).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/No worker answered, .*npm run worker/) });
  for (const argv of [['refresh'], ['stop', '--reason', 'x']]) {
    const { exitCode, stderr } = await here(['order', ...argv, '--json', 'partner', orderId], unserved);
    expect(exitCode).toBe(1);
    expect(parse(stderr)).toMatchObject({ error: { code: 'NoWorker' } });
  }
});
