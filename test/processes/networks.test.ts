import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { findLeaks } from '../../dev/faults/chaos/leaks.js';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import type { WorkerEnv } from '../support/accounts.js';
import { jsonFile } from '../support/json-file.js';
import { createAuthority } from '../support/server/certificates.js';
import { type ConnectProxy, proxyUser, startConnectProxy } from '../support/server/connect-proxy.js';
import { tracesOf } from '../support/traces.js';
import { useFleet } from '../support/worker/fleet.js';
import { runStarter } from '../support/worker/process.js';

// The service has a name that only the proxy can reach, and a certificate of a company's own root.
const ends: (() => void)[] = [];
afterAll(() => ends.forEach((end) => void end()));
const authority = createAuthority('company');
const fleet = useFleet(0);
let proxy: ConnectProxy;
let metricsPort: number;

/** Ends TLS before the sandbox. */
async function startTlsFront(): Promise<number> {
  const { cert, key } = authority.server('DNS:service.example');
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (client) => {
    const onward = connect(Number(new URL(fleet.sandbox.url).port), '127.0.0.1');
    client.on('error', () => onward.destroy()).on('close', () => onward.destroy());
    onward.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.pipe(onward).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  metricsPort = await freePort();
  proxy = await startConnectProxy({ port: await startTlsFront(), wantsPassword: true });
  ends.push(proxy.close);
  const file = readFileSync(fleet.env.FARETRAIL_ACCOUNTS_FILE ?? '', 'utf8');
  Object.assign(fleet.env, {
    FARETRAIL_ACCOUNTS_FILE: jsonFile(JSON.parse(file.replaceAll(fleet.sandbox.url, 'https://service.example'))),
    FARETRAIL_LOG_LEVEL: 'trace',
    FARETRAIL_METRICS_PORT: String(metricsPort),
    HTTPS_PROXY: proxy.url,
    NODE_EXTRA_CA_CERTS: authority.ca,
  });
  await fleet.addWorker();
}, 600_000);

it('worker, probe and doctor reach a service behind a proxy, with a root of its own, and never show the password', async () => {
  const handles = await fleet.followOrders(4, [
    ['Pending', 0],
    ['Completed', 1_500],
  ]);
  const trails = await Promise.all(handles.map((handle) => handle.result()));
  expect(trails.map(({ status }) => status)).toEqual(Array(4).fill('Completed'));
  expect(new Set(proxy.asked)).toEqual(new Set(['service.example:443']));

  const probe = (change: WorkerEnv = {}) => runStarter(['probe', 'partner', '--json'], { ...fleet.env, ...change });
  const probed = await probe();
  expect(probed).toMatchObject({ code: 0 });
  const rootless = await probe({ NODE_EXTRA_CA_CERTS: '' });
  expect(rootless.output).toContain('name the file of its root in NODE_EXTRA_CA_CERTS');
  const refused = await probe({ HTTPS_PROXY: proxy.url.replace('c1e7b@', 'c1e7@') });
  expect(refused.output).toContain('the proxy answered 407: check user and password in HTTPS_PROXY');
  const { output } = await runStarter(['doctor'], fleet.env);
  expect(output).toContain(`through the proxy ${proxy.origin}`);

  const found = await tracesOf(fleet, { databaseFile: inject('temporalDatabaseFile'), metricsPort });
  const said = [probed, rootless, refused].map(({ output, errors }) => `${output}${errors}`).join('\n');
  const shown = { ...found, said: Buffer.from(said + output) };
  expect(findLeaks({ proxy: proxy.origin }, shown)).toEqual(expect.arrayContaining(['logs: proxy', 'said: proxy']));
  // All but the last letter, which the wrong password lacks.
  expect(findLeaks({ password: proxyUser.password.slice(0, -1) }, shown)).toEqual([]);
});
