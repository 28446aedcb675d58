import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { findClientFiles, makeClientPackage } from '../../dev/stack/client-package.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { isLong } from '../support/long.js';
import { useOrderStack } from '../support/order/stack.js';

const minute = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'faretrail-packages-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const clientFolder = join(folder, 'client');
const ofTemporal = ['client', 'common', 'proto', 'workflow'].map((name) => `@temporalio/${name}`);

it('the package of the client holds no code of a worker, and needs what its caller has', () => {
  const { files } = findClientFiles();
  const ours =
    /^(client|domain)\/|^clock\.|^workflows\/messages|^temporal\/(starts|runs|run-errors|failure-type)\.|^sealing\/(payload-codec|key-ring)\./;
  expect(files.filter((file) => !ours.test(file))).toEqual([]);
  makeClientPackage(clientFolder);
  const { exports, dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(clientFolder, 'package.json'), 'utf8'),
  );
  expect(Object.keys(dependencies)).toEqual(['@grpc/grpc-js', 'p-map']);
  expect(Object.keys(peerDependencies)).toEqual(ofTemporal);
  for (const { types, default: code } of [exports['.'], exports['./workflow']])
    for (const file of [types, code]) expect(readFileSync(join(clientFolder, file), 'utf8')).not.toBe('');
});

/** A service of another company. */
const serviceWith = (name: string) => `
import { Client, Connection } from '@temporalio/client';
import { createFaretrailClient, type OrderTrail } from '${name}';
import schema from '${name}/schema/follow-order-input.json' with { type: 'json' };

const [orderId = '', address = '', taskQueue = ''] = process.argv.slice(2);
const connection = await Connection.connect({ address });
const rides = createFaretrailClient({ client: new Client({ connection }), taskQueue });
const order = await rides.follow({ account: 'partner', orderId });
const trail: OrderTrail = await order.result();
console.log(trail.outcome, typeof schema);
await connection.close();
`;

const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(projectRoot, `node_modules/${name}/package.json`), 'utf8')).version;
const peers = ofTemporal.map((name) => `${name}@${versionOf(name)}`);

// Installs from the registry what the cache of npm does not hold, so it runs on demand.
describe.runIf(isLong)('in a project that has nothing else', { timeout: 8 * minute }, () => {
  const stack = useOrderStack();

  it.each([
    ['faretrail', projectRoot, []],
    ['faretrail-client', clientFolder, peers],
  ])('the package %s compiles, and follows an order', async (name, source, more) => {
    makeClientPackage(clientFolder);
    const cwd = mkdtempSync(join(folder, 'consumer-'));
    const run = async (program: string, args: string[]): Promise<string> =>
      (await promisify(execFile)(program, args, { cwd, timeout: 5 * minute })).stdout;
    const packed = (await run('npm', ['pack', '--silent', source])).trim();
    writeFileSync(join(cwd, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }');
    const quickly = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    await run('npm', ['install', ...quickly, join(cwd, packed), ...more]);
    writeFileSync(join(cwd, 'service.ts'), serviceWith(name));
    const options = { module: 'nodenext', target: 'es2023', strict: true, skipLibCheck: true, resolveJsonModule: true };
    const types = { types: ['node'], typeRoots: [join(projectRoot, 'node_modules/@types')] };
    writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...options, ...types } }));
    await run(process.execPath, [join(projectRoot, 'node_modules/typescript/bin/tsc'), '-p', cwd]);
    const orderId = stack.newOrder('partner', [['Completed', 0]]);
    const { taskQueue } = stack.config;
    const said = await run(process.execPath, ['service.js', orderId, inject('temporalAddress'), taskQueue]);
    expect(said.trim()).toBe('completed object');
  });
});
