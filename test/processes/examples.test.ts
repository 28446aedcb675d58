import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { ensureEndpoint } from '../../dev/stack/run/nexus-endpoint.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { pythonWith } from '../../dev/stack/temporal/python.js';
import { runCommand } from '../../dev/stack/temporal/run-command.js';
import { keptFolder } from '../../dev/stack/temporal/server-cache.js';
import { isLong } from '../support/long.js';
import { useFleet } from '../support/worker/fleet.js';
import { runProgram } from '../support/worker/process.js';

/** An example that was made ready: its program and first arguments; undefined where this machine cannot run it. */
type ExampleProgram = [program: string, ...args: string[]] | undefined;

const minute = 60_000;
const say = (line: string) => process.stderr.write(`examples: ${line}\n`);

/** The Python example with its pinned packages, in an environment that is kept between runs. */
const pythonExample = (): Promise<ExampleProgram> =>
  madeReady('Python', async () => {
    const folder = join(projectRoot, 'examples/python');
    const python = await pythonWith(join(folder, 'requirements.txt'), 'examples-python', say);
    return [python, join(folder, 'caller.py')];
  });

/** The Go example, built; the build cache is Go's own. The first build takes a minute and a half, so only on demand. */
const goExample = (): Promise<ExampleProgram> =>
  madeReady('Go', async () => {
    if (!isLong) throw new Error('only with FARETRAIL_TEST_LONG=true');
    const folder = join(projectRoot, 'examples/go');
    const sources = ['main.go', 'faretrail/faretrail.go', 'go.mod', 'go.sum'].map((name) =>
      readFileSync(join(folder, name), 'utf8'),
    );
    const version = await command('go', ['version']);
    const built = await keptFolder('examples-go', [version, ...sources], say, async (made) => {
      await command('go', ['build', '-o', join(made, 'caller'), '.'], 5 * minute, folder);
    });
    return [join(built, 'caller')];
  });

const madeReady = (language: string, prepare: () => Promise<[string, ...string[]]>): Promise<ExampleProgram> =>
  prepare().catch((error) => {
    say(`the ${language} example is skipped: ${error instanceof Error ? error.message : error}`);
    return undefined;
  });

const command = (program: string, args: string[], timeLimitMs = minute, cwd = projectRoot): Promise<string> =>
  runCommand(program, args, { cwd, timeLimitMs });

const fleet = useFleet(1);

/** Python leaves no compiled files in the checkout. */
const withoutCache = { PYTHONDONTWRITEBYTECODE: '1' };

/** An order that is completed after two seconds. */
function newOrder(): string {
  const orderId = randomUUID();
  const script = ['Routing', 'Driving', 'Completed'].map((status, step) => ({ status, afterMs: step * 1_000 }));
  fleet.sandbox.addOrder({ interface: 'business', orderId, script });
  return orderId;
}
const fleetEnv = () => ({
  ...withoutCache,
  TEMPORAL_ADDRESS: inject('temporalAddress'),
  FARETRAIL_TASK_QUEUE: fleet.place.config.taskQueue,
});

describe.each([
  { language: 'Python', program: await pythonExample() },
  { language: 'Go', program: await goExample() },
])('a service in $language, with the SDK of Temporal alone', ({ program }) => {
  const [file = '', ...first] = program ?? [];
  const run = (account: string, orderId: string, env: Record<string, string>) =>
    runProgram(file, [...first, account, orderId], env);

  it.skipIf(!program)(
    'has an order followed, reads its trail and awaits its end; a second call gets the same trail',
    async () => {
      const orderId = newOrder();
      const env = fleetEnv();
      const first = await run('business', orderId, env);
      expect(first).toMatchObject({ code: 0, output: expect.stringMatching(new RegExp(`^${orderId} is `)) });
      expect(first.output).toMatch(/ ended: completed, after (Routing > )?(Driving > )?Completed\n$/);
      const again = await run('business', orderId, env);
      expect(again).toMatchObject({ code: 0, output: expect.stringContaining(`${orderId} is Completed\n`) });
      expect(again.output.split('\n')[1]).toBe(first.output.split('\n')[1]);
    },
  );

  it.skipIf(!program)('makes a business call, requests a ride and cancels it', async () => {
    const riding = file.endsWith('caller') ? [file] : [file, first[0]?.replace('caller.py', 'rider.py') ?? ''];
    const requestId = randomUUID();
    const [rider = '', ...script] = riding;
    const seen = await runProgram(
      rider,
      [...script, 'business', requestId, join(projectRoot, 'examples/order.json')],
      fleetEnv(),
    );
    expect(seen).toMatchObject({ code: 0 });
    const { call, outcome } = JSON.parse(seen.output);
    expect(call).toBe(200);
    expect(outcome).toMatch(/^(cancelled|withdrawn)$/); // withdrawn: the cancel came before the create
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
  expect(first.output).toMatch(/ ended: completed, after (Routing > )?(Driving > )?Completed\n$/);
  const refused = await example('typescript', ['Not A Name', orderId]);
  expect(refused).toMatchObject({ code: 1, errors: expect.stringContaining('InvalidInput: account') });
}, 120_000);

it.concurrent('a checkout gets changes by signal, and is paid at the end', async () => {
  const seen = await example('checkout', ['business', newOrder()]);
  expect(seen).toMatchObject({ code: 0, output: expect.stringContaining('to the customer: completed') });
  expect(seen.output).toMatch(/captured 1250 EUR\npaid: true\n$/);
}, 120_000);

it.concurrent('a caller in another namespace follows an order through Nexus', async () => {
  const { FARETRAIL_TASK_QUEUE: taskQueue } = fleetEnv();
  const endpoint = `rides-${randomUUID()}`;
  await ensureEndpoint(fleet.client, { name: endpoint, taskQueue });
  const env = { TRIPS_NAMESPACE: `trips-${randomUUID()}`, TRIPS_ENDPOINT: endpoint };
  const seen = await example('nexus-caller', ['business', newOrder()], env);
  expect(seen).toMatchObject({ code: 0, output: expect.stringContaining('"outcome":"completed"') });
}, 120_000);
