import { spawnSync } from 'node:child_process';
import { isAbsolute, join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../local/temporal/project-root.js';

/** One entry of the package, with the files of ours that it loads and the packages that these load. */
async function bundle(entry: string): Promise<{ code: string; files: string[]; packages: string[] }> {
  const isPackage = (id: string) => !id.startsWith('.') && !isAbsolute(id);
  const build = await rolldown({ input: join(projectRoot, 'src/client', entry), external: isPackage });
  const { output } = await build.generate({ format: 'esm' });
  await build.close();
  const [{ code, imports, moduleIds }] = output;
  return {
    code,
    packages: imports.filter((id) => !id.startsWith('node:')).sort(),
    files: moduleIds.map((id) => relative(projectRoot, id)).sort(),
  };
}

/** Loads the code in a process of its own and tells which files of packages that took. */
function loadedBy(code: string): string[] {
  const tell = `import { createRequire as makeRequire } from 'node:module';
    console.log(JSON.stringify(Object.keys(makeRequire(process.cwd() + '/x.js').cache)));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-'], {
    cwd: projectRoot,
    input: `${code}\n${tell}`,
    encoding: 'utf8',
  });
  if (stdout === '') throw new Error(stderr);
  return (JSON.parse(stdout) as string[]).map((file) => relative(projectRoot, file));
}

/** What only a worker or an ingress needs. */
const heavy =
  /node_modules\/(@temporalio\/(worker|core-bridge|testing|activity|nexus)|undici|lmdb|fastify|pino|jose|webpack)\//;

describe('the typed client', () => {
  it('loads no code of a worker or an ingress, neither ours nor of packages', async () => {
    const { code, files, packages } = await bundle('index.ts');
    expect(packages).toEqual(['@temporalio/client', '@temporalio/common', '@temporalio/proto', '@temporalio/workflow']);
    const inFolders = /^src\/((client|contracts|domain)\/|workflows\/messages\.ts$)/;
    const besideThem =
      /^src\/(temporal\/(starts|follow-start|runs|run-errors|failure-type)|sealing\/(payload-codec|key-ring))\.ts$/;
    expect(files.filter((file) => !inFolders.test(file) && !besideThem.test(file))).toEqual([]);
    const loaded = loadedBy(code);
    expect(loaded).toContain('node_modules/@temporalio/client/lib/index.js');
    expect(loaded.filter((file) => heavy.test(file))).toEqual([]);
  });

  it('and what would load them is found out', () => {
    expect(loadedBy("import '@temporalio/worker'").some((file) => heavy.test(file))).toBe(true);
  });
});

describe('what workflow code imports', () => {
  it('is bare of anything that workflows may not have', async () => {
    expect((await bundle('in-workflow.ts')).packages).toEqual(['@temporalio/common', '@temporalio/workflow']);
    expect((await bundle('ride-orders.ts')).packages).toEqual(['nexus-rpc']);
  });
});
