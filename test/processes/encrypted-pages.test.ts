import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { findLeaks } from '../../dev/faults/chaos/leaks.js';
import { fakeDriver } from '../../dev/sandbox/order/bodies.js';
import { type DevServer, startDevServer } from '../../dev/stack/temporal/dev-server.js';
import { findBrowser, openBrowser } from '../../dev/stack/ui/browser.js';
import { driveTemporalUi, type TemporalUi } from '../../dev/stack/ui/temporal-ui.js';
import { startCodecServer } from '../../src/cli/codec.js';
import { loadCliConfig } from '../../src/config.js';
import { createPayloadCodec } from '../../src/sealing/payload-codec.js';
import { newRide, stop } from '../dev/sandbox/booking-calls.js';
import { isLong } from '../support/long.js';
import { lifeOf, requestedRide, stands } from '../support/ride/rides.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';

// Almost three minutes with a real browser, so it runs on demand.
const program = findBrowser();
if (isLong && !program) process.stderr.write('encrypted pages: no Chromium is installed; these tests are skipped\n');

const mark = randomUUID().slice(0, 8);
/** The rider and the driver. */
const people = {
  rider: `Pat ${mark}`,
  riderPhone: '15550100777',
  address: `${mark} Street 7`,
  driver: fakeDriver.name,
  driverPhone: fakeDriver.phone,
  driverPlate: fakeDriver.vehicle.license_plate,
};

let server: DevServer;
let fleet: Fleet;
let browser: Browser;
let ride: string;
let order: string;

describe.skipIf(!isLong || !program)(
  'the Temporal UI in a browser, with encryption on',
  () => {
    beforeAll(async () => {
      const databaseFile = join(mkdtempSync(join(tmpdir(), 'faretrail-pages-')), 'temporal.db');
      server = await startDevServer({ program: inject('temporalProgram'), databaseFile, uiPort: 0 });
      const keys = `p1:${randomBytes(32).toString('base64url')}`;
      const env = { FARETRAIL_ENCRYPT_PAYLOADS: 'true', FARETRAIL_PAYLOAD_KEYS: keys };
      fleet = await startFleet(1, { env, address: server.address });
      [ride, order] = await takeRide();
      browser = await openBrowser(program ?? '');
    });
    afterAll(async () => {
      await browser?.close();
      await fleet?.close();
      await server?.stop();
    });

    it('shows no rider or driver on any page of a ride and its order, without a codec endpoint', async () => {
      const pages = await readAll(await openUi());
      expect(Object.keys(pages).length).toBeGreaterThan(15);
      expect(findLeaks(people, pages)).toEqual([]);
    });

    it('shows rider and driver on the same pages once the endpoint is set', async () => {
      const ui = await openUi();
      await ui.setCodec({ endpoint: (await startCodec()).url });
      const shown = findLeaks(people, await readAll(ui));
      const found = (where: string) =>
        shown.filter((leak) => leak.startsWith(`${where}: `)).map((leak) => leak.split(': ')[1]);
      expect(found('ride timeline')).toEqual(expect.arrayContaining(['rider', 'riderPhone', 'address']));
      expect(found('order query')).toEqual(expect.arrayContaining(['driver', 'driverPhone', 'driverPlate']));
      expect(await ui.codecSign()).toMatch(/converted content/);
    });

    it('stays encrypted with an endpoint that does not answer pages of this origin', async () => {
      const ui = await openUi();
      await ui.setCodec({ endpoint: (await startCodec({ FARETRAIL_CODEC_ORIGINS: 'https://temporal.example' })).url });
      await ui.openRun(ride);
      await expect.poll(() => ui.codecSign()).toMatch(/could not/i);
      const text = await ui.text();
      expect(text).toContain(ride);
      expect(findLeaks(people, { text: Buffer.from(text) })).toEqual([]);
    });
  },
  180_000,
);

/** A ride under way; resolves to the ids of its run and that of its order. */
async function takeRide(): Promise<[ride: string, order: string]> {
  fleet.sandbox.setRideSettings({ script: lifeOf(['Pending', 'Confirmed', 'Driving']) });
  const at = { lat: 52.5, lng: 13.4, full_address: people.address };
  const user = { name: people.rider, phone: people.riderPhone };
  const stops = [stop('origin', 'pick_up', at, { user }), stop('destination', 'drop_off', at, { user })];
  const { handle } = await requestedRide(fleet.place, { order: newRide({ stops }) });
  await stands(handle, { stage: 'following', status: 'Driving' });
  const { orderId } = await handle.query<{ orderId: string }, []>('rideStatus');
  return [handle.workflowId, `order/business/${orderId}`];
}

/** The UI without any setting. */
async function openUi(): Promise<TemporalUi> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 2_000 } });
  onTestFinished(() => context.close());
  const ui = driveTemporalUi(await context.newPage(), server.uiUrl ?? '');
  await ui.openRun(ride);
  return ui;
}

/** All text of both runs, by run and tab. */
async function readAll(ui: TemporalUi): Promise<Record<string, Buffer>> {
  const pages: Record<string, Buffer> = {};
  for (const [name, workflowId] of Object.entries({ ride, order })) {
    await ui.openRun(workflowId);
    for (const tab of await ui.tabs()) {
      await ui.openTab(tab);
      pages[`${name} ${tab}`] = Buffer.from(await ui.text());
      if (tab !== 'queries') continue;
      await ui.runQuery();
      pages[`${name} query`] = Buffer.from(await ui.text());
    }
  }
  return pages;
}

const fail = (error: unknown) => expect.fail(String(error));

async function startCodec(more: Record<string, string> = {}) {
  const codecEnv = { FARETRAIL_CODEC_PORT: '0', FARETRAIL_CODEC_ORIGINS: server.uiUrl ?? '' };
  const { payloads, codec: settings } = loadCliConfig({ ...fleet.env, ...codecEnv, ...more });
  const codec = createPayloadCodec({ ...payloads, encrypts: true });
  const endpoint = await startCodecServer({ settings, codec, onUnreadable: fail, onFailure: fail });
  onTestFinished(() => endpoint.close());
  return endpoint;
}
