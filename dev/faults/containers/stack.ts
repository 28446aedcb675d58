import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../stack/temporal/free-port.js';
import { projectRoot } from '../../stack/temporal/project-root.js';
import type { OnEnd } from '../profile.js';
import { docker } from './docker.js';

/** What `docker inspect` says of a container, as far as we ask. */
export interface Container {
  Id: string;
  Config: { User: string };
  State: { Pid: number; Status: string; StartedAt: string; ExitCode: number; Health?: { Status: string } };
  HostConfig: { PortBindings: Record<string, { HostIp: string }[]> | null };
}

/** The services of docker-compose.yml, with secrets, ports, volumes and a project name of their own. */
export interface Stack {
  ports: { temporal: number; ingress: number; sandbox: number };
  images: { product: string; sandbox: string };
  /** Made for this test: the name of each secret and its value. */
  secrets: ReadonlyMap<string, string>;
  /** Settings of the compose file. A change holds from the next `compose` on. */
  settings: Record<string, string>;
  /** Runs `docker compose` with all services of the file. */
  compose(...args: string[]): Promise<string>;
  /** Runs a command in a container. */
  exec(service: string, ...command: string[]): Promise<string>;
  container(service: string): Promise<Container>;
  /** Every service and its container. */
  containers(): Promise<Map<string, Container>>;
  /** `kill -9` of the first process. Docker starts the container again, as after a crash; until then it does not count as healthy. */
  kill(service: string): Promise<void>;
  /** These services, by default all, run and are healthy, or have ended well. */
  isHealthy(...services: string[]): Promise<boolean>;
}

const name = 'faretrail-test-containers';

/** Copies what the image and the services are made of, so that nobody's own secrets and accounts are touched. Starts nothing. */
export async function openStack(onEnd: OnEnd): Promise<Stack> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-containers-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  copyCheckout(folder);
  const ports = { temporal: await freePort(), ingress: await freePort(), sandbox: await freePort() };
  const settings: Record<string, string> = {
    FARETRAIL_VERSION: 'test-containers',
    FARETRAIL_ENCRYPT_PAYLOADS: 'false',
    FARETRAIL_PUBLIC_URL: 'https://rides.example',
    TEMPORAL_PORT: String(ports.temporal),
    UI_PORT: String(await freePort()),
    INGRESS_PORT: String(ports.ingress),
    SANDBOX_PORT: String(ports.sandbox),
  };
  const compose = (...args: string[]) =>
    docker(['compose', '--project-name', name, '--profile', 'sandbox', ...args], {
      cwd: folder,
      env: { ...process.env, ...settings },
    });
  const remove = () => compose('down', '--volumes', '--remove-orphans', '--timeout', '10').then(() => undefined);
  await remove(); // what an earlier run may have left
  onEnd(remove);
  const images = { product: 'faretrail:test-containers', sandbox: 'faretrail-sandbox:test-containers' };
  return { ports, images, secrets: makeSecrets(folder), settings, compose, ...containersOf(compose, images.product) };
}

function copyCheckout(folder: string): void {
  const ignoreFile = readFileSync(join(projectRoot, '.dockerignore'), 'utf8');
  const taken = [...ignoreFile.matchAll(/^!(.+)$/gm)].map(([, path = '']) => path);
  const own = /deploy\/compose\/(secrets|accounts\.json)$/;
  for (const path of ['.dockerignore', 'Dockerfile', 'docker-compose.yml', 'deploy/compose', ...taken])
    cpSync(join(projectRoot, path), join(folder, path), { recursive: true, filter: (from) => !own.test(from) });
}

/** Makes them as docs/how-to/deploy.md says, before the image is built: one that got into it is found. */
function makeSecrets(folder: string): Map<string, string> {
  const compose = join(folder, 'deploy/compose');
  execFileSync(join(compose, 'make-secrets.sh'), { stdio: 'ignore' });
  cpSync(join(compose, 'accounts.example.json'), join(compose, 'accounts.json'));
  const secrets = join(compose, 'secrets');
  for (const account of ['partner', 'business'])
    writeFileSync(join(secrets, 'accounts', account), randomBytes(24).toString('hex'), { mode: 0o444 });
  const files = readdirSync(secrets, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(file.parentPath, file.name), 'utf8').trim();
      return [file.name, text.replace(/^\w+:/, '')]; // without the id of a key
    }),
  );
}

type ContainerCalls = Pick<Stack, 'exec' | 'container' | 'containers' | 'kill' | 'isHealthy'>;

function containersOf(compose: Stack['compose'], image: string): ContainerCalls {
  const killed = new Map<string, string>(); // when they had been started
  const inspect = async (ids: string[]) => JSON.parse(await docker(['inspect', ...ids])) as Container[];
  const idsOf = async (service: string) => (await compose('ps', '--all', '--quiet', service)).trim();

  async function container(service: string): Promise<Container> {
    const [found] = await inspect([await idsOf(service)]);
    if (found === undefined) throw new Error(`${service} has no container`);
    return found;
  }

  async function containers(): Promise<Map<string, Container>> {
    const lines = (await compose('ps', '--all', '--format', '{{.Service}} {{.ID}}')).trim().split('\n');
    const entries = lines.map((line) => line.split(' ') as [string, string]);
    const found = await inspect(entries.map(([, id]) => id));
    return new Map(entries.flatMap(([service], at) => (found[at] ? [[service, found[at]] as const] : [])));
  }

  return {
    container,
    containers,
    exec: (service, ...command) => compose('exec', '--no-TTY', service, ...command),
    async kill(service) {
      const { Id, State } = await container(service);
      killed.set(Id, State.StartedAt);
      // After `docker kill` Docker leaves a container stopped, as after a stop by hand; and from inside, a first process cannot be killed.
      const asRoot = ['--rm', '--pid=host', '--network=none', '--user=0:0', '--entrypoint=sh'];
      await docker(['run', ...asRoot, image, '-c', `kill -9 ${State.Pid}`]);
    },
    async isHealthy(...services) {
      const all = await containers();
      const asked = services.length > 0 ? services.map((service) => all.get(service)) : [...all.values()];
      return (
        asked.length > 0 &&
        asked.every((one) => one !== undefined && killed.get(one.Id) !== one.State.StartedAt && isWell(one.State))
      );
    },
  };
}

const isWell = ({ Status, ExitCode, Health }: Container['State']): boolean =>
  Status === 'exited' ? ExitCode === 0 : Status === 'running' && (Health?.Status ?? 'healthy') === 'healthy';
