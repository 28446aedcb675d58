import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFaretrailClient } from '../../src/client/index.js';
import { toAccountName } from '../../src/domain/keys.js';
import { connectClient } from '../../src/temporal/connection.js';
import { rideStart } from '../../src/temporal/starts.js';
import type { requestRide } from '../../src/workflows/ride/request-ride.js';
import { startSandbox } from '../sandbox/sandbox.js';
import { startPostgres } from '../stack/postgres/postgres.js';
import { deskOrigin, startLocalProcess } from '../stack/run/process-child.js';
import { localSettings } from '../stack/run/settings.js';
import { findDevServer, startDevServer } from '../stack/temporal/dev-server.js';
import { order } from './encrypted-stack.js';
import { savePicture } from './save.js';
import { type Flags, inBrowser } from './ui.js';

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'faretrail-pictures-'));
const pages = {
  needs: '/',
  order: '/orders/business/7b21',
  orders: '/orders',
  ride: '/rides/business/trip-9',
  notices: '/notices',
};
const statuses = { '7b21': 'CareReq', '7b22': 'Driving', '7b23': 'Confirmed', '7b24': 'Completed', '7b25': 'Routing' };

/** Takes the pictures of the desk, over a stack of its own. */
export async function shootDesk(flags: Pick<Flags, 'browser'>): Promise<void> {
  const [folder, data] = [newFolder(), newFolder()];
  const ends: (() => unknown)[] = [];
  try {
    const postgres = await startPostgres(data, console.log);
    ends.push(postgres.stop);
    const program = await findDevServer(console.log);
    const server = await startDevServer({ program, databaseFile: join(folder, 'temporal.db'), uiPort: 0 });
    ends.push(server.stop);
    const sandbox = await startSandbox();
    ends.push(() => sandbox.close());
    const { PATH, HOME } = process.env;
    const here = { PATH, HOME, TZ: 'UTC', TEMPORAL_ADDRESS: server.address, FARETRAIL_STORE_URL: postgres.url };
    const receiver = createServer((_, response) => response.writeHead(400).end()).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    ends.push(() => receiver.close());
    const told = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const notices = {
      ...{ FARETRAIL_NOTIFY_ORIGINS: told, FARETRAIL_NOTIFY_PRIVATE: 'true' },
      FARETRAIL_NOTIFY_SECRETS: `n1:${randomBytes(32).toString('base64url')}`,
    };
    const env = { ...localSettings({ sandbox, ingressPort: 0 }).env, ...here, ...notices };
    const worker = await startLocalProcess('worker', env, folder);
    ends.push(worker.stop);
    const more = { FARETRAIL_DESK_PORT: '0', FARETRAIL_DESK_TEMPORAL_UI: server.uiUrl };
    const desk = await startLocalProcess('desk', { ...env, ...more }, folder);
    ends.push(desk.stop);
    await makeOrders(sandbox, env, told);
    const origin = deskOrigin(desk);
    await inBrowser(flags, async (browser) => {
      const viewport = { width: 1_100, height: 620 };
      const page = await browser.newPage({ viewport, colorScheme: 'light', timezoneId: 'UTC' });
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(`${origin}${path}`);
        if (path !== pages.notices) await page.locator('#live', { hasText: 'Live' }).waitFor();
        await page.evaluate(`document.querySelector('.who span').textContent = 'anna'`); // not who made the picture
        savePicture(`desk-${name}.png`, await page.screenshot());
      }
    });
  } finally {
    for (const end of ends.reverse()) await end();
    for (const one of [folder, data]) rmSync(one, { recursive: true, force: true });
  }
}

/** Orders that go on, one with customer care, one whose changes a receiver refuses, and a ride whose create lost its answer. */
async function makeOrders(
  sandbox: Awaited<ReturnType<typeof startSandbox>>,
  env: Record<string, string | undefined>,
  receiver: string,
) {
  const { client, connection } = await connectClient(env);
  try {
    const rides = createFaretrailClient({ client });
    for (const [at, [orderId, status]] of Object.entries(statuses).entries()) {
      const script = [
        { status: 'Pending', afterMs: 0 },
        { status, afterMs: 2_000 },
      ];
      sandbox.addOrder({ interface: 'business', orderId, script });
      const told = orderId === '7b22' ? { notify: [{ url: `${receiver}/rides` }] } : {};
      await rides.follow({ account: 'business', orderId, reference: `Trip ${4_711 + at}`, ...told });
    }
    const fault = { kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 } as const;
    sandbox.setFault(fault);
    const input = { account: toAccountName('business'), requestId: 'trip-9', order };
    await client.workflow.start<typeof requestRide>('requestRide', rideStart(input, 'faretrail'));
    await sleep(12_000); // until all is read and recorded
    await rides.get('business', '7b21').refresh();
  } finally {
    await connection.close();
  }
}
