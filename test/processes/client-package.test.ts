import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { findClientFiles, makeClientPackage } from '../../local/client-package.js';
import { projectRoot } from '../../local/temporal/project-root.js';
import { isLong } from '../support/long.js';
import { useOrderStack } from '../support/order/stack.js';

const minute = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'faretrail-client-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the package of the client holds no code of a worker, and needs what its caller has', () => {
  const { files } = findClientFiles();
  const ours =
    /^(client|domain)\/|^workflows\/messages|^temporal\/(calls|starts|follow-start|runs|run-errors|failure-type)\.|^sealing\/(payload-codec|key-ring)\./;
  expect(files.filter((file) => !ours.test(file))).toEqual([]);
  makeClientPackage(join(folder, 'package'));
  const { exports, dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(folder, 'package/package.json'), 'utf8'),
  );
  expect(Object.keys(dependencies)).toEqual(['@grpc/grpc-js', 'p-map']);
  const ofTemporal = ['client', 'common', 'proto', 'workflow'].map((name) => `@temporalio/${name}`);
  expect(Object.keys(peerDependencies)).toEqual([...ofTemporal, 'nexus-rpc']);
  for (const { types, default: code } of [exports['.'], exports['./workflow'], exports['./nexus']])
    for (const file of [types, code]) expect(readFileSync(join(folder, 'package', file), 'utf8')).not.toBe('');
});

const exec = promisify(execFile);
const run = async (program: string, args: string[]): Promise<string> =>
  (await exec(program, args, { cwd: folder, timeout: 5 * minute })).stdout;

/** A service of another company. */
const service = `
import { Client, Connection } from '@temporalio/client';
import { createFaretrailClient, type OrderTrail } from 'faretrail-client';
import schema from 'faretrail-client/schema/follow-order-input.json' with { type: 'json' };

const [orderId = '', address = '', taskQueue = ''] = process.argv.slice(2);
const connection = await Connection.connect({ address });
const rides = createFaretrailClient({ client: new Client({ connection }), taskQueue });
const order = await rides.follow({ account: 'partner', orderId });
const trail: OrderTrail = await order.result();
console.log(trail.outcome, typeof schema);
await connection.close();
`;

// Installs from the registry what the cache of npm does not hold.
describe.runIf(isLong)('the package of the client, in a project that has nothing else', { timeout: 8 * minute }, () => {
  const stack = useOrderStack();

  it('compiles, and follows an order on each line of Node', async () => {
    makeClientPackage(join(folder, 'package'));
    const packed = (await run('npm', ['pack', '--silent', join(folder, 'package')])).trim();
    writeFileSync(join(folder, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }');
    const { version } = JSON.parse(
      readFileSync(join(projectRoot, 'node_modules/@temporalio/client/package.json'), 'utf8'),
    );
    const peers = ['client', 'common', 'proto', 'workflow'].map((name) => `@temporalio/${name}@${version}`);
    const quickly = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    await run('npm', ['install', ...quickly, join(folder, packed), ...peers]);
    const others = await run('npm', ['ls', '--parseable', '@temporalio/worker', 'zod', 'fastify', 'undici']).catch(
      () => '',
    );
    expect(others.trim()).toBe('');

    writeFileSync(join(folder, 'service.ts'), service);
    // The SDK's declarations name types of this package, which has none. All others are checked.
    writeFileSync(join(folder, 'ms.d.ts'), "declare module 'ms' { export type StringValue = string; }");
    const options = {
      module: 'nodenext',
      target: 'es2023',
      strict: true,
      skipLibCheck: false,
      resolveJsonModule: true,
    };
    const types = { types: ['node'], typeRoots: [join(projectRoot, 'node_modules/@types')] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...options, ...types } }));
    await run(process.execPath, [join(projectRoot, 'node_modules/typescript/bin/tsc'), '-p', folder]);

    for (const line of ['20', '24', '26']) {
      const orderId = stack.newOrder('partner', [['Completed', 0]]);
      const node = ['exec', '--yes', `--package=node-${process.platform}-${process.arch}@${line}`, '--', 'node'];
      const said = await run('npm', [
        ...node,
        'service.js',
        orderId,
        inject('temporalAddress'),
        stack.config.taskQueue,
      ]);
      expect(said.trim(), `Node ${line}`).toBe('completed object');
    }
  });
});
