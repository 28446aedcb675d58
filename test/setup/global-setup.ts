import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import type { TestProject } from 'vitest/node';
import { findDevServer, startDevServer } from '../../dev/stack/temporal/dev-server.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { bundleWorkflows } from '../../src/temporal/workflow-code.js';
import { devServerTests } from './dev-server-tests.js';

declare module 'vitest' {
  /** What the global set-up hands to the tests that need servers: `inject('temporalAddress')`. */
  export interface ProvidedContext {
    /** `host:port` of the server of this run, a development server if no other was given; its namespace is `default`. */
    temporalAddress: string;
    /** Of the development server; missing where another one was given. */
    temporalDatabaseFile: string;
    /** For a test that needs a server of its own: `startDevServer({ program: inject('temporalProgram'), ... })`. */
    temporalProgram: string;
    /** For `workflowBundle: { codePath }` of a worker. */
    workflowBundlePath: string;
  }
}

/**
 * One development server for the whole run, in a database of its own, and one bundle of the workflows.
 * FARETRAIL_TEST_TEMPORAL names another server instead; its namespace `default` must have our search attributes.
 */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const say = (line: string) => process.stderr.write(`set-up: ${line}\n`);
  const temporalProgram = await findDevServer(say);
  const folder = await mkdtemp(join(tmpdir(), 'faretrail-test-'));
  const databaseFile = join(folder, 'temporal.db');
  const workflowBundlePath = join(folder, 'workflow-bundle.js');
  // From the sources, so that the tests never meet an outdated build.
  const workflowsPath = join(projectRoot, 'src/workflows/index.ts');
  await writeFile(workflowBundlePath, await bundleWorkflows(workflowsPath, new DefaultLogger('ERROR')));
  const given = process.env.FARETRAIL_TEST_TEMPORAL;
  if (given) for (const file of devServerTests()) say(`left out: ${file} needs a development server`);
  const server = given ? undefined : await startDevServer({ program: temporalProgram, databaseFile });

  project.provide('temporalAddress', given || (server?.address ?? ''));
  project.provide('temporalDatabaseFile', databaseFile);
  project.provide('temporalProgram', temporalProgram);
  project.provide('workflowBundlePath', workflowBundlePath);

  return async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
