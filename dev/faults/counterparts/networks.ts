import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../../src/config.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { createHttp } from '../../../src/ride-api/http.js';
import { freePort } from '../../stack/temporal/free-port.js';
import { type ServerProcess, startServerProcess } from '../../stack/temporal/server-process.js';
import type { OnEnd } from '../profile.js';
import type { Row, Wanted } from './report.js';
import { debianTool, type Tool, ToolMissing } from './tools.js';

const user = { name: 'rides', password: '5c1e7b09d4' };

/** Creates go to a service through a proxy that others wrote: what came of each, and did the service get it? */
export async function networks({ say, onEnd }: Wanted): Promise<Row[]> {
  const tool = await debianTool('tinyproxy-bin', '1.11.1-2.1+deb12u1', say, 'tinyproxy');
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-networks-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const service = await startService(folder, onEnd);
  const [closed, refused] = [await freePort(), await freePort()];
  const proxy = await startTinyproxy(tool, folder, [service.port, closed]);
  onEnd(() => proxy.server.kill());
  const at = (name: string, password: string) => `http://${name}:${password}@127.0.0.1:${proxy.port}`;
  const right = at(user.name, user.password);
  const create = (url: string, port: number, path: string) => outcomeOf(url, `https://${service.host}:${port}${path}`);

  const { NODE_TLS_REJECT_UNAUTHORIZED: before = '1' } = process.env;
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; // a process learns of an authority only at its start
  const came: [tried: string, outcome: string, wanted: RegExp][] = [
    ['user and password', await create(right, service.port, '/take'), /^HTTP 201$/],
    ['a wrong password', await create(at(user.name, 'wrong'), service.port, '/take'), /^NO_CONNECTION PROXY_401$/],
    ['no password', await create(right.replace(/\/\/.*@/, '//'), service.port, '/take'), /^NO_CONNECTION PROXY_407$/],
    ['a port that it does not allow', await create(right, refused, '/take'), /^NO_CONNECTION PROXY_403$/],
    ['a service that is away', await create(right, closed, '/take'), /^NO_CONNECTION PROXY_5\d\d$/],
  ];
  const held = create(right, service.port, '/hold');
  await sleep(1_000);
  await proxy.server.kill();
  came.push(
    ['a proxy that is killed while a create waits', await held, /^CONNECTION_LOST /],
    ['a proxy that is away', await create(right, service.port, '/take'), /^NO_CONNECTION PROXY_ECONNREFUSED$/],
  );
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;

  const wrong = came
    .filter(([, outcome, wanted]) => !wanted.test(outcome))
    .map(([tried, outcome]) => `${tried}: ${outcome}`);
  if (service.taken.join() !== '/take,/hold') wrong.push(`the service took ${service.taken.join()}`);
  return [
    {
      ...{ tool: tool.name, version: tool.version, wrong },
      tried: `creates through it: ${came.map(([tried]) => tried).join(', ')}`,
      came: `${came.map(([, outcome]) => outcome).join(', ')}; the service got the first and the one that waited`,
    },
  ];
}

/** A service at an address that is not of this machine's loopback, which no proxy gets. */
async function startService(folder: string, onEnd: OnEnd) {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const host = addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  if (host === undefined)
    throw new ToolMissing('ToolMissing', 'this machine has no address but loopback\nRemedy: add one');
  const [cert, key] = [join(folder, 'service.pem'), join(folder, 'service.key')];
  const subject = ['-subj', '/CN=service', '-addext', `subjectAltName=IP:${host}`];
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert];
  execFileSync('openssl', [...request, ...subject], { stdio: 'pipe' });
  const taken: string[] = [];
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, ({ url = '' }, response) => {
    taken.push(url);
    if (url === '/take') response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":"1"}');
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { host, port, taken };
}

async function startTinyproxy(
  { program }: Tool,
  folder: string,
  allowed: readonly number[],
): Promise<{ server: ServerProcess; port: number }> {
  const port = await freePort();
  const file = join(folder, 'tinyproxy.conf');
  const lines = [
    ...[`Port ${port}`, 'Listen 127.0.0.1', 'Allow 127.0.0.1', 'Timeout 600', 'MaxClients 20'],
    ...[`BasicAuth ${user.name} ${user.password}`, ...allowed.map((one) => `ConnectPort ${one}`)],
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const isUp = (log: string) => log.includes('Accepting connections');
  return { port, server: await startServerProcess(program, ['-d', '-c', file], { isUp }) };
}

async function outcomeOf(proxyUrl: string, url: string): Promise<string> {
  const http = createHttp({ proxy: loadConfig({ HTTPS_PROXY: proxyUrl }).proxy });
  try {
    return `HTTP ${(await http.send({ method: 'POST', url, headers: {}, body: '{}' })).status}`;
  } catch (error) {
    return error instanceof RideApiUnreachable ? `${error.code} ${error.systemCode}` : String(error);
  } finally {
    await http.close();
  }
}
