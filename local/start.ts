import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { startSandbox } from '../sandbox/sandbox.js';
import { paintFor } from '../src/cli/paint.js';
import { tableText } from '../src/cli/table.js';
import { FaretrailError } from '../src/domain/errors.js';
import { connectClient } from '../src/temporal-connection.js';
import { findFault, followSamples, showLive, stepMs } from './stack/sample-rides.js';
import { givenSettings, localSettings } from './stack/settings.js';
import { type LocalTemporal, startTemporal } from './stack/temporal.js';
import { type LocalWorker, startWorker } from './stack/worker-child.js';
import { projectRoot } from './temporal/project-root.js';

const folder = join(projectRoot, '.faretrail');
const paint = paintFor(process.stdout.isTTY, process.env.NO_COLOR);
const say = (line: string) => console.log(line);
const heading = (text: string) => say(`\n${paint('strong', text)}`);

/** What was started, in order; stopped in reverse. */
const running: { stop(): Promise<void> }[] = [];
let stopped: Promise<void> | undefined;

function readFlags(argv: string[]): { once: boolean } {
  return new Command('npm start --')
    .description(
      'Runs Temporal with its UI, a sandbox of the service and the worker, and follows sample orders of both interfaces.\n' +
        'Accounts whose FARETRAIL_* credentials are set are real; the sandbox stands in for the others.',
    )
    .option('--once', 'exit when the sample orders have ended: 0 when all is well, 1 when not', false)
    .allowExcessArguments(false)
    .exitOverride()
    .parse(argv)
    .opts<{ once: boolean }>();
}

async function main(): Promise<void> {
  const { once } = readFlags(process.argv);
  heading('faretrail, local stack');
  const temporal = await startTemporal(folder, say);
  running.push(temporal);
  say(`Temporal  ${temporal.address}`);
  say(`UI        ${temporal.uiUrl ?? 'see your own server'}`);
  const sandbox = await startSandbox();
  running.push({ stop: () => sandbox.close() });
  const { env, sandboxed } = localSettings(sandbox);
  say(`sandbox   ${sandbox.url}, for: ${sandboxed.join(', ') || 'no account'}`);
  const workerEnv = { ...env, ...givenSettings(), TEMPORAL_ADDRESS: temporal.address, TZ: 'UTC' };
  const worker = await startWorker(workerEnv, folder);
  running.push(worker);
  say(`worker    log in ${worker.logFile.slice(projectRoot.length + 1)}`);
  const isWell = await Promise.race([followAll({ sandbox, sandboxed, temporal }), worker.ended]);
  if (once) return await exit(isWell ? 0 : 1);
  sayHowToGoOn(temporal, worker);
  await worker.ended;
}

interface Stage {
  sandbox: Awaited<ReturnType<typeof startSandbox>>;
  sandboxed: ReturnType<typeof localSettings>['sandboxed'];
  temporal: LocalTemporal;
}

async function followAll({ sandbox, sandboxed, temporal }: Stage): Promise<boolean> {
  const { client, connection } = await connectClient({ ...process.env, TEMPORAL_ADDRESS: temporal.address });
  running.push({ stop: () => connection.close() });
  const taskQueue = process.env.FARETRAIL_TASK_QUEUE || 'faretrail';
  if (sandboxed.length === 0) {
    say('All accounts are real: there are no sample orders. Follow one of yours with: npm run starter -- track');
    return true;
  }
  heading(`Sample orders, a step every ${stepMs / 1_000} seconds (times in UTC)`);
  const rides = await followSamples(sandbox, client, { sandboxed, taskQueue });
  const trails = await Promise.all(rides.map((ride) => showLive(ride, say, paint)));
  const results = rides.map((ride, index) => {
    const trail = trails[index];
    const fault = trail ? findFault(ride, trail) : 'no trail';
    return { ride, trail, fault };
  });
  heading('How they ended');
  const rows = results.map(({ ride, trail, fault }) => [
    ride.orderId,
    ride.name,
    trail?.timeline.map(({ status }) => status).join(' > ') ?? '',
    fault === null ? paint('good', trail?.outcome ?? '') : paint('bad', fault),
  ]);
  say(tableText(['order', 'what', 'timeline', 'outcome'], rows, paint));
  const { byOperation } = sandbox.counts();
  say(
    `Calls at the sandbox: ${Object.entries(byOperation)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`,
  );
  return results.every(({ fault }) => fault === null);
}

function sayHowToGoOn(temporal: LocalTemporal, { logFile }: LocalWorker): void {
  const isUsual = /:7233$/.test(temporal.address);
  const prefix = isUsual ? '' : `TEMPORAL_ADDRESS=${temporal.address} `;
  heading('Still running. Try, in another terminal:');
  say(`  ${prefix}npm run starter -- list`);
  say(`  ${prefix}npm run starter -- tokens`);
  say(`  tail -f ${logFile.slice(projectRoot.length + 1)}`);
  if (temporal.uiUrl) say(`  open ${temporal.uiUrl}`);
  say('Ctrl-C stops it.');
}

function stopAll(): Promise<void> {
  stopped ??= (async () => {
    for (const part of running.reverse()) await part.stop();
  })();
  return stopped;
}

async function exit(code: number): Promise<never> {
  await stopAll();
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    say('\nstopping: worker, sandbox, Temporal');
    void exit(signal === 'SIGINT' ? 130 : 143);
  });
}

main().catch((error: unknown) => {
  if (stopped !== undefined) return; // what fails while we stop fails because we stop
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2); // commander has printed it
  console.error(error instanceof FaretrailError ? error.message : error);
  void exit(1);
});
