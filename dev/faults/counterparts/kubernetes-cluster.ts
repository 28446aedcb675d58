import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '../../stack/temporal/free-port.js';
import { startServerProcess } from '../../stack/temporal/server-process.js';
import type { OnEnd } from '../profile.js';
import type { Tool } from './tools.js';

/** What kubectl printed. `complaints`: warnings of the API server, and why it refused. */
export interface Told {
  out: string;
  complaints: string;
  isRefused: boolean;
}

/** Kubernetes without nodes: the API server and the controllers. There is no scheduler and no kubelet, so no pod runs. */
export interface Cluster {
  /** As the administrator. A refusal is a result. */
  kubectl(...args: string[]): Promise<Told>;
  /** Throws an Error when kubectl complains. */
  list<Kind>(...args: string[]): Promise<Kind[]>;
}

export interface ClusterTools {
  etcd: Tool;
  apiServer: Tool;
  controllers: Tool;
  kubectl: Tool;
}

const upWithinMs = 180_000; // on a busy machine
const longestMs = 180_000;
const maxBuffer = 64 * 1024 * 1024;
const run = promisify(execFile);

/** Starts it on ports of the loopback address, its data in `folder`. Throws `ServerFailed`. */
export async function startCluster(tools: ClusterTools, folder: string, onEnd: OnEnd): Promise<Cluster> {
  const ports = await freePorts(4);
  const [etcd, etcdPeers, api, controllers] = ports as [number, number, number, number];
  const file = (name: string, text: string | Buffer): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const start = async (tool: Tool, flags: Record<string, string | number>, isUp?: () => Promise<boolean>) => {
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    const options = { upWithinMs, ...(isUp && { isUp }) };
    const server = await startServerProcess(tool.program, args, options);
    onEnd(() => server.stop());
  };
  const certificates = join(folder, 'certificates'); // the API server signs its own
  const access = (user: string): { token: string; file: string } => {
    const token = randomBytes(16).toString('hex');
    const cluster = {
      server: `https://127.0.0.1:${api}`,
      'certificate-authority': join(certificates, 'apiserver.crt'),
    };
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'it' },
      clusters: [{ name: 'it', cluster }],
      users: [{ name: 'it', user: { token } }],
      contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    };
    return { token, file: file(`${user}.kubeconfig`, JSON.stringify(config)) };
  };
  const [administrator, manager] = [access('administrator'), access('manager')];
  const kubectl = kubectlWith(tools.kubectl, administrator.file, folder);
  const succeeds = async (...args: string[]) => !(await kubectl(...args)).isRefused;

  await start(tools.etcd, {
    ...{ 'data-dir': join(folder, 'etcd'), 'initial-cluster': `default=http://127.0.0.1:${etcdPeers}` },
    ...{ 'listen-client-urls': `http://127.0.0.1:${etcd}`, 'advertise-client-urls': `http://127.0.0.1:${etcd}` },
    'listen-peer-urls': `http://127.0.0.1:${etcdPeers}`,
    'initial-advertise-peer-urls': `http://127.0.0.1:${etcdPeers}`,
  });
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const signingKey = file('signing-key.pem', privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const users = [
    `${administrator.token},administrator,1,system:masters`,
    `${manager.token},system:kube-controller-manager,2`,
  ];
  const apiServerFlags = {
    ...{ 'etcd-servers': `http://127.0.0.1:${etcd}`, 'bind-address': '127.0.0.1', 'secure-port': api },
    ...{
      'cert-dir': certificates,
      'token-auth-file': file('tokens.csv', users.join('\n')),
      'authorization-mode': 'RBAC',
    },
    ...{ 'service-account-issuer': 'https://kubernetes.default.svc', 'service-account-signing-key-file': signingKey },
    'service-account-key-file': file('signing-key.pub.pem', publicKey.export({ type: 'spki', format: 'pem' })),
    ...{ 'service-cluster-ip-range': '10.0.0.0/24', 'endpoint-reconciler-type': 'none' },
  };
  await start(tools.apiServer, apiServerFlags, () => succeeds('get', '--raw=/readyz'));
  const controllerFlags = {
    ...{ kubeconfig: manager.file, 'use-service-account-credentials': 'true', 'leader-elect': 'false' },
    ...{ 'service-account-private-key-file': signingKey, 'cert-dir': join(folder, 'controllers') },
    ...{ 'bind-address': '127.0.0.1', 'secure-port': controllers },
  };
  await start(tools.controllers, controllerFlags, () => succeeds('get', 'serviceaccount', 'default'));
  return {
    kubectl,
    async list(...args) {
      const { out, complaints, isRefused } = await kubectl('get', '--output=json', ...args);
      if (isRefused) throw new Error(complaints);
      return JSON.parse(out).items;
    },
  };
}

function kubectlWith({ program }: Tool, kubeconfig: string, folder: string): Cluster['kubectl'] {
  const env = { PATH: process.env.PATH, KUBECONFIG: kubeconfig, KUBECACHEDIR: join(folder, 'kubectl'), KUBERC: 'off' };
  return async (...args) => {
    try {
      const { stdout: out, stderr: complaints } = await run(program, args, { env, maxBuffer, timeout: longestMs });
      return { out, complaints, isRefused: false };
    } catch (error) {
      const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
      if (typeof code !== 'number') throw error;
      return { out: stdout, complaints: stderr, isRefused: true };
    }
  };
}
