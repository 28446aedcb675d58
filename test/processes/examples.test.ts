import { type StdioOptions, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { pythonWith } from '../../dev/stack/temporal/python.js';
import { runCommand } from '../../dev/stack/temporal/run-command.js';
import { keptFolder } from '../../dev/stack/temporal/server-cache.js';
import { isLong } from '../support/long.js';
import { useFleet } from '../support/worker/fleet.js';
import { runProgram } from '../support/worker/process.js';

/** Commands of an example that was made ready: to follow an order, and to request a ride. Undefined where this machine cannot run it. */
type Example = Record<'follow' | 'ride', [program: string, ...args: string[]]> | undefined;

const minute = 60_000;
const say = (line: string) => process.stderr.write(`examples: ${line}\n`);

/** The Python example with its pinned packages, in an environment that is kept between runs. */
async function pythonExample(): Promise<Example> {
  const folder = join(projectRoot, 'examples/python');
  const python = await pythonWith(join(folder, 'requirements.txt'), 'examples-python', say);
  return { follow: [python, join(folder, 'caller.py')], ride: [python, join(folder, 'rider.py')] };
}

/** The Go example, built; the build cache is Go's own. The first build takes a minute and a half, so only on demand. */
async function goExample(): Promise<Example> {
  if (!isLong) throw new Error('only with FARETRAIL_TEST_LONG=true');
  const cwd = join(projectRoot, 'examples/go');
  const files = ['main.go', 'faretrail/faretrail.go', 'go.mod', 'go.sum'];
  const sources = files.map((name) => readFileSync(join(cwd, name), 'utf8'));
  const version = await runCommand('go', ['version'], { cwd, timeLimitMs: minute });
  const built = await keptFolder('examples-go', [version, ...sources], say, async (made) => {
    await runCommand('go', ['build', '-o', join(made, 'caller'), '.'], { cwd, timeLimitMs: 5 * minute });
  });
  const caller = join(built, 'caller');
  return { follow: [caller], ride: [caller] };
}

const madeReady = (language: string, prepare: () => Promise<Example>): Promise<Example> =>
  prepare().catch((error) => {
    say(`the ${language} example is skipped: ${error instanceof Error ? error.message : error}`);
    return undefined;
  });

const fleet = useFleet(1);
const ended = / ended: completed, after (Routing > )?(Driving > )?Completed\n$/;

/** An order that is completed after two seconds. */
const newOrder = (): string =>
  fleet.newOrder(
    'business',
    ['Routing', 'Driving', 'Completed'].map((status, step) => [status, step * 1_000]),
  );
const fleetEnv = () => ({
  PYTHONDONTWRITEBYTECODE: '1', // no compiled files in the checkout
  TEMPORAL_ADDRESS: inject('temporalAddress'),
  FARETRAIL_TASK_QUEUE: fleet.place.config.taskQueue,
});

describe.each([
  { language: 'Python', commands: await madeReady('Python', pythonExample) },
  { language: 'Go', commands: await madeReady('Go', goExample) },
])('a service in $language, with the SDK of Temporal alone', ({ commands }) => {
  const run = (what: 'follow' | 'ride', ...more: string[]) => {
    const [program = '', ...args] = commands?.[what] ?? [];
    return runProgram(program, [...args, 'business', ...more], fleetEnv());
  };

  it.skipIf(!commands)(
    'has an order followed, reads its trail and awaits its end; a second call gets the same',
    async () => {
      const orderId = newOrder();
      const first = await run('follow', orderId);
      expect(first).toMatchObject({ code: 0, output: expect.stringMatching(new RegExp(`^${orderId} is `)) });
      expect(first.output).toMatch(ended);
      const again = await run('follow', orderId);
      expect(again).toMatchObject({ code: 0, output: expect.stringContaining(`${orderId} is Completed\n`) });
      expect(again.output.split('\n')[1]).toBe(first.output.split('\n')[1]);
    },
  );

  it.skipIf(!commands)('makes a business call, requests a ride and cancels it', async () => {
    const requestId = randomUUID();
    const seen = await run('ride', requestId, join(projectRoot, 'examples/order.json'));
    expect(seen).toMatchObject({ code: 0 });
    const { call, outcome } = JSON.parse(seen.output);
    expect(call).toBe(200);
    expect(outcome).toMatch(/^(cancelled|withdrawn)$/); // withdrawn: the cancel came before the create
    const again = await run('ride', requestId, join(projectRoot, 'examples/order.json'));
    expect(again).toMatchObject({ code: 0, errors: '', output: `already ended: ${outcome}\n` });
    const created = fleet.sandbox.createdOrders().filter((one) => one.requestId?.endsWith(requestId));
    expect(created).toHaveLength(outcome === 'cancelled' ? 1 : 0);
  });
});

/** Runs an example in TypeScript as a program of its own, which loads the package by its name. */
const example = (name: string, args: string[], more: Record<string, string> = {}) => {
  const env = { ...fleetEnv(), ...more };
  return runProgram(process.execPath, [join(projectRoot, `dist/examples/${name}/main.js`), ...args], env);
};

it.concurrent('a service with the typed client follows an order to its end', async () => {
  const orderId = newOrder();
  const first = await example('typescript', ['business', orderId]);
  expect(first).toMatchObject({ code: 0, output: expect.stringMatching(new RegExp(`^${orderId} is `)) });
  expect(first.output).toMatch(ended);
  const refused = await example('typescript', ['Not A Name', orderId]);
  expect(refused).toMatchObject({ code: 1, errors: expect.stringContaining('InvalidInput: account') });
}, 600_000);

it.concurrent('a checkout gets changes by signal, and is paid at the end', async () => {
  const seen = await example('checkout', ['business', newOrder()]);
  expect(seen).toMatchObject({ code: 0, output: expect.stringContaining('to the customer: completed') });
  expect(seen.output).toMatch(/captured 1250 EUR\npaid: true\n$/);
}, 600_000);

it.concurrent('a caller in another namespace follows an order through Nexus, of an account that is served', async () => {
  const endpoint = `rides-${randomUUID()}`;
  const env = { ...fleetEnv(), TRIPS_NAMESPACE: `trips-${randomUUID()}`, RIDES_ENDPOINT: endpoint };
  const program = join(projectRoot, 'dist/examples/nexus/worker.js');
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit'];
  const worker = spawn(process.execPath, [program, 'business'], { stdio, env: { ...process.env, ...env } });
  onTestFinished(() => void worker.kill('SIGKILL'));
  if (worker.stdout) await once(worker.stdout, 'data'); // the endpoint is there
  const seen = await example('nexus', ['business', newOrder()], env);
  expect(seen).toMatchObject({ code: 0, output: expect.stringContaining('"outcome":"completed"') });
  const refused = await example('nexus', ['partner', '1'], env);
  expect(refused).toMatchObject({ code: 0, output: expect.stringContaining('"refusal":"AccountNotServed"') });
  worker.kill('SIGTERM');
  expect(await once(worker, 'exit')).toEqual([0, null]);
}, 600_000);
