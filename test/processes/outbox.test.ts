import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { runCommand } from '../../dev/stack/temporal/run-command.js';
import { keptFolder } from '../../dev/stack/temporal/server-cache.js';
import { type ServerProcess, startServerProcess } from '../../dev/stack/temporal/server-process.js';
import type { OrderChange } from '../../src/domain/order/trail.js';
import { openStore } from '../../src/store/store.js';
import { isLong } from '../support/long.js';
import { patient } from '../support/patience.js';
import { usePostgres } from '../support/store/postgres.js';

const natsServer = 'github.com/nats-io/nats-server/v2@v2.12.1';

/** Built with Go once, in a minute. */
async function findNatsServer(): Promise<string> {
  const say = (line: string) => process.stderr.write(`outbox: ${line}\n`);
  const folder = await keptFolder('nats-server', [natsServer], say, async (made) => {
    const env = { ...process.env, GOBIN: made };
    await runCommand('go', ['install', natsServer], { cwd: made, env, timeLimitMs: 600_000 });
  });
  return join(folder, 'nats-server');
}

/** With this limit `npm test` needs neither Go nor that minute. */
const inLong = it.skipIf(!isLong);
const postgres = isLong ? usePostgres() : null;

inLong('the outbox relays each change once and in order, whenever it is killed', { timeout: 900_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'faretrail-nats-'));
  const port = await freePort();
  const server = await startServerProcess(await findNatsServer(), ['-js', '-sd', folder, '-p', String(port)]);
  const url = postgres?.url ?? '';
  const store = openStore(url);
  let recorded = 0;
  const record = (): Promise<void> => {
    const since = new Date().toISOString();
    const change = { account: 'business', orderId: `o${recorded % 7}`, since, terminal: false } as OrderChange;
    recorded += 1;
    return store.record({ run: 'run', notice: recorded, at: since, type: 'order.changed', change });
  };
  const env = { ...process.env, FARETRAIL_STORE_URL: url, NATS_URL: `nats://127.0.0.1:${port}` };
  const relay = (): Promise<ServerProcess> =>
    startServerProcess(process.execPath, [join(projectRoot, 'dist/examples/outbox/main.js')], { env });
  await record();
  let running = await relay();
  for (let kills = 0; kills < 5; kills += 1) {
    for (let n = 0; n < 300; n += 1) {
      void record();
      if (n % 20 === 0) await sleep(30);
    }
    await sleep(300);
    await running.kill();
    running = await relay();
  }
  const nats = await connect({ servers: env.NATS_URL });
  const manager = await jetstream(nats).jetstreamManager();
  const messages = async () => (await manager.streams.info('RIDES')).state.messages;
  await expect.poll(messages, patient).toBe(recorded);
  const { name } = await manager.consumers.add('RIDES', { ack_policy: 'none' });
  const consumer = await jetstream(nats).consumers.get('RIDES', name);
  const positions: number[] = [];
  for await (const message of await consumer.fetch({ max_messages: recorded, expires: 5_000 }))
    positions.push(Number(message.json<{ position: string }>().position));
  expect(positions).toEqual(Array.from({ length: recorded }, (_, index) => index + 1));
  await nats.close();
  await store.close();
  await running.stop();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});
