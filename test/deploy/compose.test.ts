import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Env, loadCliConfig, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import { EnvReader } from '../../src/settings/env-reader.js';
import { type ComposeService, composeFile, inProject, withDefaults } from './deployment-files.js';

const services = Object.entries(composeFile.services);
const ours = services.filter(([, { image }]) => image.startsWith('faretrail'));

// A copy, in which the script makes its secrets.
const folder = mkdtempSync(join(tmpdir(), 'faretrail-compose-'));
cpSync(inProject('deploy/compose'), folder, { recursive: true, filter: (path) => !path.includes('secrets/') });
const makeSecrets = () => spawnSync(join(folder, 'make-secrets.sh'), { encoding: 'utf8' });
const firstRun = makeSecrets();

/** Reads what a container of this service finds at a path; a service without the secret finds nothing. */
const inContainer = (service: ComposeService) => (path: string) => {
  const config = service.configs?.find(({ target }) => target === path);
  const secret = service.secrets?.find((name) => path === `/run/secrets/${name}`);
  const place = config ? composeFile.configs[config.source]?.file : secret && composeFile.secrets[secret]?.file;
  const [, folderOf] = /^(\/run\/secrets\/(?:accounts|desk))\/\w+$/.exec(path) ?? [];
  if (folderOf && service.volumes?.some((volume) => volume.endsWith(`:${folderOf}:ro`)))
    return 'postgresql://db.example/rides'; // would do as a client secret, too
  if (place === undefined || place === '') throw Object.assign(new Error(path), { code: 'ENOENT' });
  const file = place.replace('accounts.json', (name) => (place.includes('sandbox') ? name : 'accounts.example.json'));
  return readFileSync(file.replace('./deploy/compose', folder), 'utf8');
};

const environment = (service: ComposeService): Env =>
  Object.fromEntries(Object.entries(service.environment ?? {}).map(([name, value]) => [name, withDefaults(value)]));

const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0;
it.runIf(hasCompose)('compose takes the file as it stands', () => {
  const checked = spawnSync('docker', ['compose', 'config', '--quiet'], { cwd: inProject('.'), encoding: 'utf8' });
  expect(checked).toMatchObject({ status: 0, stderr: '' });
});

describe('the settings in the compose file', () => {
  it.each(ours.filter(([, { command }]) => command?.[0] === 'worker'))('are those that %s takes', (_name, service) => {
    const config = loadWorkerConfig(environment(service), inContainer(service));
    expect(config.accounts.map(({ name }) => name)).toEqual(['partner', 'business']);
    expect(service.healthcheck?.test.join(' ')).toContain(`127.0.0.1:${config.metricsPort}/readyz`);
  });

  it.each(ours.filter(([, { command }]) => command?.[0] === 'ingress'))('are those that %s takes', (_name, service) => {
    const config = loadIngressConfig(environment(service), inContainer(service));
    expect(service.healthcheck?.test.join(' ')).toContain(`127.0.0.1:${config.ingressMetricsPort}/readyz`);
    expect(service.volumes?.[0]).toContain('journal:/var/lib/faretrail/journal');
    // It spends no credentials and opens no token.
    const read = inContainer(service);
    expect(() => read('/run/secrets/sealing_keys')).toThrow();
    expect(() => read('/run/secrets/accounts/business')).toThrow();
  });

  it('are those that the desk takes, at the loopback address alone while nobody signs in', () => {
    const service = composeFile.services.desk ?? expect.fail('there is none');
    const load = (more: Env = {}) => loadCliConfig({ ...environment(service), ...more }, inContainer(service));
    const { store, desk } = load();
    expect(store).toMatchObject({ url: 'postgresql://db.example/rides' });
    expect(desk).toMatchObject({ host: '127.0.0.1', url: null, login: null });
    expect(withDefaults(service.healthcheck?.test.join(' ') ?? '')).toContain(`127.0.0.1:${desk.port}/healthz`);
    const beyond = { FARETRAIL_DESK_URL: 'https://desk.example' };
    expect(() => load(beyond)).toThrow('FARETRAIL_DESK_ISSUER: missing');
    const client = { FARETRAIL_DESK_CLIENT_ID: 'desk', FARETRAIL_DESK_CLIENT_SECRET_FILE: '/run/secrets/desk/client' };
    const login = { ...beyond, ...client, FARETRAIL_DESK_ISSUER: 'https://login.example' };
    expect(load(login).desk.login).toMatchObject({ clientId: 'desk' });
    const read = inContainer(service);
    for (const path of ['sealing_keys', 'webhook_keys', 'accounts/business'])
      expect(() => read(`/run/secrets/${path}`)).toThrow();
  });

  it('have workers, ingresses and the desk encrypt payloads, with keys that the script makes, unless an operator switches it off', () => {
    const all = ours.filter(([, { command }]) => ['worker', 'ingress', 'desk'].includes(command?.[0] ?? ''));
    expect(all).toHaveLength(5);
    for (const [, service] of all) {
      const payloads = (env: Env) => {
        const read = new EnvReader(env, inContainer(service));
        return { ...read.payloadEncryption(), problems: read.problems };
      };
      const env = environment(service);
      expect(payloads(env)).toMatchObject({ encrypts: true, keys: [{ kid: 'p1' }], problems: [] });
      expect(payloads({ ...env, FARETRAIL_ENCRYPT_PAYLOADS: 'false' })).toMatchObject({ encrypts: false });
      expect(service.environment?.FARETRAIL_ENCRYPT_PAYLOADS).toMatch(/^\$\{FARETRAIL_ENCRYPT_PAYLOADS:-/);
    }
  });
});

it('the script makes the secrets once, readable for containers but not for other users of the machine', () => {
  expect(firstRun).toMatchObject({ status: 0, stderr: '' });
  const names = Object.keys(composeFile.secrets);
  const read = () => names.map((name) => readFileSync(join(folder, 'secrets', name), 'utf8'));
  const before = read();
  expect(new Set(before).size).toBe(names.length);
  expect(makeSecrets().stdout).not.toContain('made');
  expect(read()).toEqual(before);
  expect(statSync(join(folder, 'secrets')).mode & 0o777).toBe(0o700);
  for (const name of names) expect(statSync(join(folder, 'secrets', name)).mode & 0o777).toBe(0o444);
});

const checked = ours.flatMap(([, { command, healthcheck }]) => (healthcheck ? [{ command, healthcheck }] : []));
// Those of one command are the same.
const healthChecks = new Map(checked.map(({ command, healthcheck }) => [command?.[0], healthcheck.test]));
it.each([...healthChecks])(
  'the health check of %s says what the process says, and fails when the process does not answer',
  async (_name, [, program = '', ...args]) => {
    let status = 200;
    const server = createServer((_request, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const check = async () => {
      const here = args.map((arg) => withDefaults(arg).replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`));
      const [code] = await once(spawn(program, here), 'exit');
      return code as number;
    };
    expect(await check()).toBe(0);
    status = 503;
    expect(await check()).toBe(1);
    server.on('connection', (socket) => socket.destroy()); // a port that is given up may be somebody else's at once
    expect(await check()).toBe(1);
    server.close();
  },
);

// The scripts run in containers, where a line that ends with CRLF is no command.
it('a clone that turns line endings into CRLF leaves the scripts as they are', () => {
  const clone = mkdtempSync(join(tmpdir(), 'faretrail-clone-'));
  const git = (...args: string[]) => spawnSync('git', args, { cwd: clone, encoding: 'utf8' });
  git('-c', 'core.autocrlf=true', 'clone', '--quiet', '--depth', '1', `file://${inProject('.')}`, '.');
  const scripts = git('grep', '--files-with-matches', '^#!').stdout.trim().split('\n');
  expect(scripts).toContain('deploy/compose/make-secrets.sh');
  for (const path of scripts) expect(readFileSync(join(clone, path), 'utf8')).not.toContain('\r');
});
