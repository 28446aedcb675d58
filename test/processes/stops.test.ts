import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, inject, it } from 'vitest';
import { startDevServer } from '../../dev/stack/temporal/dev-server.js';
import { workerEnv } from '../support/accounts.js';
import { startWorkerProcess } from '../support/worker/process.js';

/** Without a limit of ours it takes half a minute. */
const stopsWithinMs = 15_000;

it('a worker that is stopped while Temporal does not answer ends soon, as after any stop', async () => {
  const server = await startDevServer({
    program: inject('temporalProgram'),
    databaseFile: join(mkdtempSync(join(tmpdir(), 'faretrail-stops-')), 'temporal.db'),
  });
  try {
    const settings = { TEMPORAL_ADDRESS: server.address, FARETRAIL_LOG_LEVEL: 'info' };
    const worker = await startWorkerProcess(workerEnv('http://127.0.0.1:9', settings));
    process.kill(server.pid, 'SIGSTOP');
    const code = await Promise.race([worker.stop(), pause(stopsWithinMs, 'not yet')]);
    if (code !== 0) await worker.kill();
    expect(code).toBe(0);
    expect(worker.output()).toContain('all calls under way have ended');
  } finally {
    await server.kill();
  }
}, 60_000);
