import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, inject } from 'vitest';
import { type DevServer, startDevServer } from '../../../dev/stack/temporal/dev-server.js';

/**
 * A Temporal server for one file, available from its `beforeAll` on. For files with subscriptions or encrypted payloads:
 * workflow ids name only account and event type, so on the shared server other files would use the same runs.
 */
export function useOwnServer(): Pick<DevServer, 'address'> {
  let server: DevServer | undefined;
  beforeAll(async () => {
    const databaseFile = join(mkdtempSync(join(tmpdir(), 'faretrail-server-')), 'temporal.db');
    server = await startDevServer({ program: inject('temporalProgram'), databaseFile });
  });
  afterAll(() => server?.stop());
  return {
    get address() {
      if (!server) throw new Error('the server starts in beforeAll');
      return server.address;
    },
  };
}
