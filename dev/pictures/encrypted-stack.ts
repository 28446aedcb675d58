import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCodecServer } from '../../src/cli/codec.js';
import { loadCliConfig } from '../../src/config.js';
import { toAccountName } from '../../src/domain/keys.js';
import { createPayloadCodec } from '../../src/sealing/payload-codec.js';
import { connectClient } from '../../src/temporal/connection.js';
import { rideStart } from '../../src/temporal/starts.js';
import type { requestRide } from '../../src/workflows/ride/request-ride.js';
import { sandboxProducts } from '../sandbox/ride/catalogue.js';
import { startSandbox } from '../sandbox/sandbox.js';
import { startLocalProcess } from '../stack/run/process-child.js';
import { localSettings } from '../stack/run/settings.js';
import { findDevServer, startDevServer } from '../stack/temporal/dev-server.js';

/** A stack of its own with encryption on, in which one ride has come to its end. */
export interface EncryptedStack {
  uiUrl: string;
  codecUrl: string;
  rideWorkflowId: string;
  close(): Promise<void>;
}

const user = { name: 'Pat Example', phone: '15550100200' };
const location = { full_address: 'Example Street 1', lat: 52.5, lng: 13.4 };
/** The body of a ride. */
export const order = {
  stops: [
    { type: 'origin', actions: [{ type: 'pick_up', user }], location },
    { type: 'destination', actions: [{ type: 'drop_off', user }], location },
  ],
  category: 'transportation',
  product_id: sandboxProducts.standard.id,
};
const life = ['Pending', 'Confirmed', 'Driving', 'Completed'];

/** Starts it in a folder that is gone when it is closed. */
export async function startEncryptedStack(say: (line: string) => void): Promise<EncryptedStack> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-pictures-'));
  const started: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const end of started.splice(0).reverse()) await end();
  };
  try {
    const program = await findDevServer(say);
    const server = await startDevServer({ program, databaseFile: join(folder, 'temporal.db'), uiPort: 0 });
    started.push(server.stop);
    const { uiUrl = '', address } = server;
    const sandbox = await startSandbox();
    started.push(() => sandbox.close());
    sandbox.setRideSettings({ script: life.map((status, step) => ({ status, afterMs: step * 1_000 })) });
    const env = {
      ...localSettings({ sandbox, ingressPort: 0 }).env,
      TEMPORAL_ADDRESS: address,
      FARETRAIL_ENCRYPT_PAYLOADS: 'true',
      FARETRAIL_PAYLOAD_KEYS: `p1:${randomBytes(32).toString('base64url')}`,
      FARETRAIL_CODEC_PORT: '0',
      FARETRAIL_CODEC_ORIGINS: uiUrl,
    };
    const worker = await startLocalProcess('worker', { ...env, PATH: process.env.PATH, TZ: 'UTC' }, folder);
    started.push(worker.stop);
    const codec = await startCodec(env);
    started.push(codec.close);
    return { uiUrl, codecUrl: codec.url, rideWorkflowId: await takeRide(env), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function startCodec(env: Record<string, string>) {
  const { payloads, codec: settings } = loadCliConfig(env);
  const codec = createPayloadCodec({ ...payloads, encrypts: true });
  return startCodecServer({ settings, codec, onUnreadable: console.error, onFailure: console.error });
}

async function takeRide(env: Record<string, string>): Promise<string> {
  const { client, connection } = await connectClient(env);
  try {
    const input = { account: toAccountName('business'), requestId: 'trip-9', order };
    const ride = await client.workflow.start<typeof requestRide>('requestRide', rideStart(input, 'faretrail'));
    await ride.result();
    return ride.workflowId;
  } finally {
    await connection.close();
  }
}
