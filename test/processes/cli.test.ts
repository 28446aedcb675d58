import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runHere } from '../cli/fake-process.js';
import { type WorkerEnv, workerEnv } from '../support/accounts.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';

const starter = fileURLToPath(new URL('../../dist/src/starter.js', import.meta.url));
const shared: WorkerEnv = {
  FARETRAIL_TASK_QUEUE: `q-${randomUUID()}`,
  FARETRAIL_SEALING_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
};
const secrets = () => [...stack.sandbox.issuedTokens(), env.TEST_PARTNER_SECRET ?? '', env.TEST_BUSINESS_SECRET ?? ''];
const unserved = { FARETRAIL_TASK_QUEUE: `q-${randomUUID()}` };
let stack: OrderStack;
let env: WorkerEnv;

beforeAll(async () => {
  stack = await startOrderStack({ env: shared });
  env = { ...workerEnv(stack.sandbox.url, shared), TEMPORAL_ADDRESS: inject('temporalAddress') };
});
afterAll(() => stack.close());

interface Cli {
  child: ChildProcess;
  stdout(): string;
  ended: Promise<{ exitCode: number | null; stdout: string; stderr: string }>;
}

/** The compiled command line interface in a process of its own, as it is installed. */
function start(argv: string[], more: WorkerEnv = {}): Cli {
  const inherited = { PATH: process.env.PATH, HOME: process.env.HOME };
  const child = spawn(process.execPath, [starter, ...argv], { env: { ...inherited, ...env, ...more } });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
  const ended = once(child, 'close').then(([exitCode]) => ({ exitCode: exitCode as number | null, ...output }));
  return { child, stdout: () => output.stdout, ended };
}

const run = (argv: string[], more?: WorkerEnv) => start(argv, more).ended;
/** The same program in this process, where a process of its own would show nothing more. */
const here = (argv: string[], more: WorkerEnv = {}) => runHere(argv, { ...env, ...more });
const parse = (stdout: string) => JSON.parse(stdout) as Record<string, unknown>;

describe('the cli over a running worker', () => {
  it('follows an order once, watches it to its end, and shows its trail afterwards', async () => {
    const orderId = stack.newOrder('partner', [['Pending', 0]]);
    const first = await run(['order', 'follow', 'partner', orderId, '--reference', 'trip-9', '--json']);
    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    expect(parse(first.stdout)).toEqual({ workflowId: `order/partner/${orderId}`, state: 'started', warnings: [] });
    expect(parse((await run(['order', 'follow', 'partner', orderId, '--json'])).stdout)).toMatchObject({
      state: 'alreadyFollowed',
    });

    const watch = start(['order', 'watch', 'partner', orderId, '--json']);
    for (const [seen, next] of [
      ['Pending', 'Driving'],
      ['Driving', 'Completed'],
    ] as const) {
      await expect.poll(watch.stdout).toContain(seen);
      stack.sandbox.setStatus('partner', orderId, next);
    }
    const watched = await watch.ended;
    expect(watched).toMatchObject({ exitCode: 0, stderr: '' });
    const changes = watched.stdout.trim().split('\n').map(parse);
    expect(changes.map(({ change, status }) => status ?? change)).toEqual(['Pending', 'Driving', 'Completed', 'ended']);

    const again = await run(['order', 'follow', 'partner', orderId, '--json']);
    expect(again.exitCode).toBe(0);
    const trail = { outcome: 'completed', reference: 'trip-9' };
    expect(parse(again.stdout)).toMatchObject({ state: 'alreadyEnded', trail });
    const shown = await run(['order', 'show', 'partner', orderId]);
    expect(shown.exitCode).toBe(0);
    expect(shown.stdout).toMatch(/outcome +completed[\s\S]*\d\d:\d\d:\d\d {2}Completed +read/);
  });

  it('reads an order now, and stops following it with a reason', async () => {
    const orderId = stack.newOrder('business', [['Pending', 0]]);
    expect(await run(['order', 'follow', 'business', orderId])).toMatchObject({ exitCode: 0 });
    const refreshed = await run(['order', 'refresh', 'business', orderId, '--json']);
    expect(refreshed.exitCode).toBe(0);
    expect(parse(refreshed.stdout)).toMatchObject({ state: 'done', trail: { status: 'Pending', outcome: null } });
    const stopped = await run(['order', 'stop', 'business', orderId, '--reason', 'entered twice', '--json']);
    expect(stopped.exitCode).toBe(0);
    expect(parse(stopped.stdout)).toMatchObject({ trail: { outcome: 'stopped' } });
    const late = await run(['order', 'refresh', 'business', orderId]);
    expect(late).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Following has already ended') });
  });

  it('ends with 3 for an order that is not followed', async () => {
    const commands = [
      ['order', 'show'],
      ['order', 'watch'],
      ['order', 'refresh'],
      ['order', 'stop', '--reason', 'x'],
    ];
    const ended = commands.map((argv) => run([...argv, '--json', 'partner', 'nobody-follows-this']));
    for (const { exitCode, stdout, stderr } of await Promise.all(ended)) {
      expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
      expect(parse(stderr)).toMatchObject({ error: { code: 'NotFollowed' } });
    }
  });

  it('ends a watch with 1 when the run fails, and shows why', async () => {
    const orderId = stack.newOrder('partner', [['Pending', 0]]);
    const handle = await stack.follow('partner', orderId);
    const watch = start(['order', 'watch', 'partner', orderId, '--json']);
    await expect.poll(watch.stdout).toContain('Pending');
    await handle.terminate('for the test');
    const { exitCode, stderr } = await watch.ended;
    expect(exitCode).toBe(1);
    expect(parse(stderr)).toEqual({ error: { code: 'Terminated', message: 'for the test' } });
    const shown = await run(['order', 'show', 'partner', orderId]);
    expect(shown).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Terminated: for the test') });
    const again = await run(['order', 'follow', 'partner', orderId]);
    expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Following again order /) });
    await stack.client.workflow.getHandle(handle.workflowId).terminate();
  });

  it('ends only the watching at Ctrl-C', async () => {
    const orderId = stack.newOrder('partner', [['Pending', 0]]);
    const handle = await stack.follow('partner', orderId);
    const watch = start(['order', 'watch', 'partner', orderId]);
    await expect.poll(watch.stdout).toContain('Pending');
    watch.child.kill('SIGINT');
    expect(await watch.ended).toMatchObject({ exitCode: 130, stderr: expect.stringContaining('still followed') });
    expect((await handle.describe()).status.name).toBe('RUNNING');
    await handle.terminate();
  });

  it('lists orders by a status that holds a quote, and by no other', async () => {
    const status = `it's odd ${randomUUID()}`;
    const handle = await stack.follow('partner', stack.newOrder('partner', [[status, 0]]));
    const listed = async (wanted: string) =>
      parse((await here(['order', 'list', '--status', wanted, '--json'])).stdout).orders;
    await expect.poll(() => listed(status)).toMatchObject([{ status, state: 'running' }]);
    expect(await listed(`x' OR RideStatus = '${status}`)).toEqual([]);
    await handle.terminate();
  });

  it('keeps within the limit of a list and says that there is more', async () => {
    const orders = ['one', 'two'].map(() => stack.newOrder('business', [['Pending', 0]]));
    const handles = await Promise.all(orders.map((orderId) => stack.follow('business', orderId)));
    const list = async () =>
      (await here(['order', 'list', '--running', '--account', 'business', '--limit', '1'])).stderr;
    await expect.poll(list).toContain('There are more than 1');
    const { stdout } = await here(['order', 'list', '--running', '--account', 'business', '--limit', '1']);
    expect(stdout.trim().split('\n')).toHaveLength(2);
    await Promise.all(handles.map((handle) => handle.terminate()));
  });
});

describe('tokens and the doctor', () => {
  it('find all well, and show no token, no secret and no sealed text', async () => {
    const doctor = await run(['doctor']);
    expect(doctor.stdout).not.toMatch(/^(FAIL|skip)/m);
    expect(doctor).toMatchObject({ exitCode: 0, stderr: '' });
    for (const name of [
      'settings',
      'Temporal',
      'search attributes',
      'worker',
      'token of partner',
      'base URL of business',
    ]) {
      expect(doctor.stdout).toMatch(new RegExp(`^ok {4}${name} `, 'm'));
    }
    const asked = stack.sandbox.issuedTokens().length;
    const listed = async () => (await here(['token', 'list', '--json'])).stdout;
    await expect.poll(listed).toMatch(/"scope":"order".*"state":"serving"/);
    const output = `${await listed()}${(await here(['token', 'list'])).stdout}${doctor.stdout}`;
    expect(stack.sandbox.issuedTokens()).toHaveLength(asked);
    expect(asked).toBeGreaterThan(0);
    for (const secret of secrets()) expect(output).not.toContain(secret);
    expect(output).not.toContain('eyJ');
  });

  it('name a missing worker for each queue, with the remedy', async () => {
    const { exitCode, stdout } = await here(['doctor'], unserved);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}worker +no worker polls task queue q-\S+; start one/m);
    expect(stdout).toMatch(/^FAIL {2}worker for partner +no worker polls/m);
    expect(stdout).toMatch(/^skip {2}tokens /m);
  });

  it('name a namespace that is not there', async () => {
    const { exitCode, stdout } = await run(['doctor'], { TEMPORAL_NAMESPACE: 'no-such-place' });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}Temporal .*"no-such-place"; correct TEMPORAL_NAMESPACE/m);
    expect(await run(['order', 'list'], { TEMPORAL_NAMESPACE: 'no-such-place' })).toMatchObject({ exitCode: 1 });
  });
});

describe('the cli while the service rejects our credentials', () => {
  it('names what needs a person wherever one looks', async () => {
    stack.sandbox.setFault({ kind: 'invalidClient' });
    stack.sandbox.revokeTokens();
    const orderId = stack.newOrder('partner', [['Pending', 0]]);
    const handle = await stack.follow('partner', orderId);
    const listed = async () => (await here(['attention', '--account', 'partner'])).stdout;
    await expect.poll(listed).toMatch(new RegExp(`${orderId} .*credentialsRejected`));
    expect((await here(['order', 'show', 'partner', orderId])).stdout).toMatch(/attention +credentialsRejected since /);
    expect((await here(['token', 'list'])).stdout).toMatch(/^partner +demand_partner +failed: credentialsRejected/m);
    const { exitCode, stdout } = await run(['doctor']);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}token of partner .*check the account's client id/m);
    await handle.terminate();
  });
});

describe('the cli without a worker', () => {
  const orderId = randomUUID();

  it('starts to follow and warns that no worker reads it yet', async () => {
    const { exitCode, stdout, stderr } = await here(['order', 'follow', 'partner', orderId], unserved);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`order/partner/${orderId}`);
    expect(stderr.match(/warning: no worker polls task queue/g)).toHaveLength(2);
  });

  it('shows what Temporal itself knows', async () => {
    const { exitCode, stdout } = await here(['order', 'show', 'partner', orderId], unserved);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/No worker answered, .*npm run worker/);
  });

  it('changes nothing and says why', async () => {
    for (const argv of [
      ['order', 'refresh'],
      ['order', 'stop', '--reason', 'x'],
    ]) {
      const { exitCode, stderr } = await here([...argv, '--json', 'partner', orderId], unserved);
      expect(exitCode).toBe(1);
      expect(parse(stderr)).toMatchObject({ error: { code: 'NoWorker' } });
    }
  });
});
