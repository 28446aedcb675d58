import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sandboxCredentials } from '../../sandbox/sandbox.js';
import { type Env, loadConfig, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import { readPayloadEncryption } from '../../src/settings/codec.js';
import { createEnvReader } from '../../src/settings/env-reader.js';
import { type ComposeService, commandFile, composeFile, inProject, withDefaults } from './deployment-files.js';

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
  if (service.volumes?.some((volume) => volume.endsWith(':/run/secrets/accounts:ro')) && /\/accounts\/\w+$/.test(path))
    return 'a client secret';
  if (place === undefined || place === '') throw Object.assign(new Error(path), { code: 'ENOENT' });
  const file = place.replace('accounts.json', (name) => (place.includes('sandbox') ? name : 'accounts.example.json'));
  return readFileSync(file.replace('./deploy/compose', folder), 'utf8');
};

const environment = (service: ComposeService): Env =>
  Object.fromEntries(Object.entries(service.environment ?? {}).map(([name, value]) => [name, withDefaults(value)]));

describe('the compose file', () => {
  describe.each(services)('for %s', (_name, service) => {
    it('has a pinned image, a restart, no root, and a health check unless the service ends or only sleeps', () => {
      expect(service.image).toMatch(/^[a-z/-]+:(?!latest)\S+$/);
      expect(service.restart).toMatch(/^(unless-stopped|on-failure:\d+)$/);
      if (!service.image.startsWith('faretrail')) expect(service.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
      const endsOrSleeps = service.restart.startsWith('on-failure') || service.command?.[0] === 'sleep';
      expect(service.healthcheck === undefined).toBe(endsOrSleeps);
    });

    it('has ports for this machine only, and no secret in the environment', () => {
      for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
      const isSecret = (name: string) => /SECRET|KEYS|PASSWORD|PWD|TOKEN/.test(name) && !/^SANDBOX_|_FILE$/.test(name);
      expect(Object.keys(service.environment ?? {}).filter(isSecret)).toEqual([]);
    });
  });

  it('builds each of our images in one service, for which the others wait', () => {
    const builders = ours.filter(([, { build }]) => build !== undefined);
    expect(builders.map(([name, { image }]) => [name, withDefaults(image)])).toEqual([
      ['image', 'faretrail:local'],
      ['sandbox', 'faretrail-sandbox:local'],
    ]);
    for (const [name, { build, pull_policy, depends_on }] of ours)
      if (!build) {
        expect(pull_policy, name).toBe('never');
        expect(depends_on?.image?.condition, name).toBe('service_completed_successfully');
      }
  });

  it('puts the sandbox and its processes into a network that none of them holds', () => {
    const sharing = services.filter(([, { network_mode }]) => network_mode !== undefined);
    expect(sharing.map(([name]) => name)).toEqual(['sandbox-ingress', 'sandbox-worker', 'sandbox']);
    for (const [name, { network_mode, ports }] of sharing) {
      expect(network_mode, name).toBe('service:sandbox-network');
      expect(ports, name).toBeUndefined();
    }
    expect(composeFile.services['sandbox-network']?.command).toEqual(['sleep', 'infinity']);
  });

  it('keeps the orders of the sandbox in a Temporal namespace of their own, which is made before its worker starts', () => {
    const namespaces = services.flatMap(([name, { environment: env }]) =>
      env?.TEMPORAL_NAMESPACE === undefined ? [] : [[name, env.TEMPORAL_NAMESPACE] as const],
    );
    expect(namespaces.length).toBeGreaterThan(0);
    for (const [name, namespace] of namespaces)
      expect([name, namespace]).toEqual([name, name.startsWith('sandbox') ? 'sandbox' : 'default']);
    for (const name of ['worker', 'sandbox-worker']) {
      const { depends_on: needs = {}, environment: env } = composeFile.services[name] ?? expect.fail(name);
      const makers = Object.keys(needs).filter((need) => need.endsWith('namespace'));
      const made = makers.map((maker) => composeFile.services[maker]?.environment?.TEMPORAL_NAMESPACE);
      expect(made).toEqual([env?.TEMPORAL_NAMESPACE]);
    }
  });

  it('starts the UI with the sandbox, at the address that the page about deploying names', () => {
    expect(composeFile.services.sandbox?.depends_on).toHaveProperty('temporal-ui');
    const [port = ''] = composeFile.services['temporal-ui']?.ports ?? [];
    const page = readFileSync(inProject('docs/how-to/deploy.md'), 'utf8');
    expect(page).toContain(`http://localhost:${withDefaults(port).split(':')[1]}`);
  });

  it.each(services)('gives %s no capability, and no way to get one', (_name, service) => {
    expect(service).toMatchObject({ cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
  });

  it.each(ours)('starts %s by a command of the image, with a read-only file system', (_name, service) => {
    expect(commandFile(service.command?.[0] ?? '')).toBeDefined();
    expect(service.read_only).toBe(true);
  });
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

  it('version the workers when the deployment has a name', () => {
    const worker = composeFile.services.worker ?? expect.fail('no worker');
    const env = { ...environment(worker), TEMPORAL_DEPLOYMENT_NAME: 'faretrail', TEMPORAL_WORKER_BUILD_ID: '1.0' };
    expect(loadConfig(env, inContainer(worker)).deployment).toMatchObject({ buildId: '1.0' });
    expect(worker.environment?.TEMPORAL_DEPLOYMENT_NAME).toContain('TEMPORAL_DEPLOYMENT_NAME');
  });

  it('have workers and ingresses encrypt payloads, with keys that the script makes, unless an operator switches it off', () => {
    const both = ours.filter(([, { command }]) => ['worker', 'ingress'].includes(command?.[0] ?? ''));
    expect(both).toHaveLength(4);
    for (const [, service] of both) {
      const payloads = (env: Env) => {
        const problems: string[] = [];
        const found = readPayloadEncryption(createEnvReader({ env, readFile: inContainer(service), problems }));
        return { ...found, problems };
      };
      const env = environment(service);
      expect(payloads(env)).toMatchObject({ encrypts: true, keys: [{ kid: 'p1' }], problems: [] });
      expect(payloads({ ...env, FARETRAIL_ENCRYPT_PAYLOADS: 'false' })).toMatchObject({ encrypts: false });
      expect(service.environment?.FARETRAIL_ENCRYPT_PAYLOADS).toMatch(/^\$\{FARETRAIL_ENCRYPT_PAYLOADS:-/);
    }
  });

  it('have the credentials and the ports of the sandbox', () => {
    const worker = composeFile.services['sandbox-worker'] ?? expect.fail('no worker');
    const { accounts } = loadWorkerConfig(environment(worker), inContainer(worker));
    for (const { interface: at, clientId, clientSecret, businessId, baseUrl } of accounts) {
      expect({ clientId, clientSecret, ...(businessId && { businessId }) }).toEqual(sandboxCredentials[at]);
      expect(composeFile.services.sandbox?.command).toContain(new URL(baseUrl).port);
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
      const here = args.map((arg) => arg.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`));
      const [code] = await once(spawn(program, here), 'exit');
      return code as number;
    };
    expect(await check()).toBe(0);
    status = 503;
    expect(await check()).toBe(1);
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
    expect(await check()).toBe(1);
  },
);
