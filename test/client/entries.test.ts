import { isAbsolute, join, relative } from 'node:path';
import type { Client } from '@temporalio/client';
import { rolldown } from 'rolldown';
import { expect, it } from 'vitest';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { orderHandle } from '../../src/client/handles.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';

/** One entry of the package: the files of ours that it loads, and the packages that these load. */
async function bundle(entry: string): Promise<{ files: string[]; packages: string[] }> {
  const isPackage = (id: string) => !id.startsWith('.') && !isAbsolute(id);
  const build = await rolldown({ input: join(projectRoot, 'src/client', entry), external: isPackage });
  const { output } = await build.generate({ format: 'esm' });
  await build.close();
  const [{ imports, moduleIds }] = output;
  return {
    packages: imports.filter((id) => !id.startsWith('node:')).sort(),
    files: moduleIds.map((id) => relative(projectRoot, id)).sort(),
  };
}

it('the typed client imports no code and no package that only a worker or an ingress needs', async () => {
  const { files, packages } = await bundle('index.ts');
  const ofTemporal = ['client', 'common', 'proto', 'workflow'].map((name) => `@temporalio/${name}`);
  expect(packages).toEqual(['@grpc/grpc-js', ...ofTemporal, 'p-map']);
  const inFolders = /^src\/((client|contracts|domain)\/|clock\.ts$|workflows\/messages\.ts$)/;
  const besideThem = /^src\/(temporal\/(starts|runs|run-errors|failure-type)|sealing\/(payload-codec|key-ring))\.ts$/;
  expect(files.filter((file) => !inFolders.test(file) && !besideThem.test(file))).toEqual([]);
});

it('what workflow code imports loads nothing that workflows may not have', async () => {
  expect((await bundle('in-workflow.ts')).packages).toEqual(['@temporalio/common', '@temporalio/workflow']);
});

it('notify refuses a receiver that cannot be told and names its place in the list, before it sends anything', async () => {
  const client = { workflow: { getHandle: () => ({}) } } as unknown as Client;
  const order = orderHandle(client, { account: toAccountName('partner'), orderId: toOrderId('42') });
  const receivers = [{ url: 'https://orders.example' }, { url: 'ftp://orders.example' }];
  const refusal = { code: 'InvalidInput', message: expect.stringMatching(/^notify\[1\]\.url: /) };
  await expect(order.notify(receivers)).rejects.toMatchObject(refusal);
});
