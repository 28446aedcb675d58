import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type DevServer, startDevServer } from '../../../dev/stack/temporal/dev-server.js';
import { freePort } from '../../../dev/stack/temporal/free-port.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { promptConnectionOptions } from '../../../src/temporal/connection.js';
import { portOf } from '../../support/delivery/deliveries.js';
import { aForwarder } from '../../webhooks/forward/port.js';
import { aDelivery, aJournal } from '../../webhooks/journal/folders.js';

const account = toAccountName('business');
const maxSignals = 5;
let folder: string;
let server: DevServer;
let connection: Connection;
let deliveries: ReturnType<typeof portOf>;

const start = (port: number) =>
  startDevServer({
    program: inject('temporalProgram'),
    databaseFile: join(folder, 'temporal.db'),
    port,
    dynamicConfig: { 'history.maximumSignalsPerExecution': `${maxSignals}` },
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'faretrail-outage-'));
  const port = await freePort();
  server = await start(port);
  connection = Connection.lazy({ address: server.address, ...promptConnectionOptions });
  const client = new Client({ connection });
  deliveries = portOf({ client, config: { taskQueue: 'unserved' } });
});
afterAll(async () => {
  await connection.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const notice = { deliveryId: 'd1', eventType: 'status_changed', receivedAt: '2026-05-01T08:00:00.000Z' };

it('a run that takes no more signals rejects for itself alone', async () => {
  const key = { account, orderId: toOrderId('full') };
  for (let sent = 0; sent < maxSignals; sent += 1) await deliveries.toOrder(key, [notice]);
  await expect(deliveries.toOrder(key, [notice])).rejects.toMatchObject({ name: 'ServiceError' });
  expect(await deliveries.toOrder({ account, orderId: toOrderId('other') }, [notice])).toBe('started');
});

it('while Temporal is down calls reject as unavailable, and the journal is emptied once it is back', async () => {
  const journal = await aJournal();
  aForwarder({ journal, port: deliveries });
  const port = Number(server.address.split(':')[1]);
  await server.kill();
  await expect(
    deliveries.park({ ...notice, account, eventType: 'status_changed', reason: 'noOrderId', sealed: '' }),
  ).rejects.toMatchObject({ code: 'TemporalUnavailable' });

  await Promise.all(Array.from({ length: 300 }, (_, n) => journal.append(aDelivery({ orderId: `${n % 100}` }))));
  await sleep(8_000); // long enough for the library's own pauses to grow
  expect(journal.depth()).toBe(300);
  server = await start(port);
  await expect.poll(() => journal.depth()).toBe(0);
});
