import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it, onTestFinished } from 'vitest';
import { projectRoot } from '../../local/temporal/project-root.js';
import { isLong } from '../support/long.js';
import { startOrderStack } from '../support/order/stack.js';

// Installs from the registry what the cache of npm does not hold, so it runs on demand: half a minute to two.
const minute = 60_000;

/** A service of another company: what it imports, and what it does with that. */
const service = `
import { Client, Connection } from '@temporalio/client';
import { createFaretrailClient, type OrderTrail } from 'faretrail';
import { rideOrders } from 'faretrail/nexus';
import schema from 'faretrail/schema/follow-order-input.json' with { type: 'json' };

const [orderId = '', address = '', taskQueue = ''] = process.argv.slice(2);
const connection = await Connection.connect({ address });
const faretrail = createFaretrailClient({ client: new Client({ connection }), taskQueue });
const order = await faretrail.follow({ account: 'partner', orderId });
const trail: OrderTrail = await order.result();
console.log(trail.outcome, typeof rideOrders, typeof schema);
await connection.close();
`;

const folder = mkdtempSync(join(tmpdir(), 'faretrail-consumer-'));
const exec = promisify(execFile);
async function run(program: string, args: string[], { cwd = folder, env = {} as Record<string, string> } = {}) {
  const { stdout } = await exec(program, args, { cwd, env: { ...process.env, ...env }, timeout: 5 * minute });
  return stdout;
}

it.runIf(isLong)(
  'the package is all that another project needs for the typed client and the commands',
  async () => {
    const stack = await startOrderStack();
    onTestFinished(() => stack.close());
    const pack = ['pack', '--json', '--pack-destination', folder];
    const report = await run('npm', pack, { cwd: projectRoot });
    const [{ filename = '' } = {}] = Object.values(JSON.parse(report) as { filename: string }[]);
    writeFileSync(join(folder, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }');
    const quickly = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    await run('npm', ['install', ...quickly, join(folder, filename)]);

    writeFileSync(join(folder, 'service.ts'), service);
    const options = { module: 'nodenext', target: 'es2023', strict: true, skipLibCheck: true, resolveJsonModule: true };
    const types = { types: ['node'], typeRoots: [join(projectRoot, 'node_modules/@types')] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...options, ...types } }));
    await run(process.execPath, [join(projectRoot, 'node_modules/typescript/bin/tsc'), '-p', folder]);

    const orderId = stack.newOrder('partner', [['Completed', 0]]);
    const address = inject('temporalAddress');
    const { taskQueue } = stack.config;
    const said = await run(process.execPath, ['service.js', orderId, address, taskQueue]);
    expect(said.trim()).toBe('completed object object');

    const command = ['node_modules/.bin/faretrail', 'order', 'show', 'partner', orderId, '--json'];
    const env = { TEMPORAL_ADDRESS: address, FARETRAIL_TASK_QUEUE: taskQueue };
    const shown = await run(process.execPath, command, { env });
    expect(JSON.parse(shown)).toMatchObject({ trail: { orderId, outcome: 'completed' } });
  },
  8 * minute,
);
