import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { type Env, loadCliConfig, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import { encodedKey } from '../settings/env.js';
import { workerEnv } from '../support/accounts.js';
import { inProject } from './deployment-files.js';

const read = (path: string): string => readFileSync(inProject(`deploy/${path}`), 'utf8');

/** A Deployment or a StatefulSet, as far as the tests ask. */
interface PodOwner {
  spec: { template: { spec: { containers: [Container]; volumes: Volume[] } } };
}
interface Container {
  env: { name: string; value: string }[];
  ports: { name: string; containerPort: number }[];
  volumeMounts: { name: string; mountPath: string }[];
}
interface Volume {
  name: string;
  configMap?: object;
  secret?: { items?: { path: string }[] };
}
const [worker, ingress, desk] = ['worker', 'ingress', 'components/desk/desk'].map((name) => {
  const [owner] = parseAllDocuments(read(`kubernetes/${name}.yaml`));
  return owner?.toJS() as PodOwner;
}) as [PodOwner, PodOwner, PodOwner];
const containerOf = ({ spec }: PodOwner) => spec.template.spec.containers[0];

const settings = [...read('kubernetes/settings.env').matchAll(/^(.+?)=(.*)$/gm)].map(([, name, value]) => [
  name,
  value,
]);

/** What a pod has in its environment. */
const environment = (owner: PodOwner): Env => ({
  ...Object.fromEntries(settings),
  ...Object.fromEntries(containerOf(owner).env.map(({ name, value }) => [name, value])),
});

const keyFiles: Record<string, string> = {
  'sealing-keys': `k1:${encodedKey(1)}`,
  'webhook-keys': `w1:${encodedKey(2)}`,
  'payload-keys': `p1:${encodedKey(3)}`,
  'session-keys': `d1:${encodedKey(4)}`,
  'store-url': 'postgresql://reader@db.example/rides',
};

/** Reads what the volumes of a pod hold at a path. */
const inPod = (owner: PodOwner) => (path: string) => {
  const mount = containerOf(owner).volumeMounts.find(({ mountPath }) => path.startsWith(`${mountPath}/`));
  const volume = owner.spec.template.spec.volumes.find(({ name }) => name === mount?.name);
  const file = path.slice((mount?.mountPath.length ?? 0) + 1);
  if (volume?.configMap) return read(`kubernetes/${file}`);
  const isThere = volume?.secret && (volume.secret.items ?? [{ path: file }]).some((item) => item.path === file);
  if (!isThere) throw Object.assign(new Error(path), { code: 'ENOENT' });
  return keyFiles[file] ?? 'a client secret';
};

it('the Deployment gives a worker settings that it takes', () => {
  const config = loadWorkerConfig(environment(worker), inPod(worker));
  expect(config.accounts).toHaveLength(2);
  expect(containerOf(worker).ports).toEqual([{ name: 'metrics', containerPort: config.metricsPort }]);
  expect(config.payloads).toMatchObject({ encrypts: true, keys: [{ kid: 'p1' }] });
});

it('an ingress gets settings that it takes, a journal that outlives it, and neither credentials nor keys of tokens', () => {
  const config = loadIngressConfig(environment(ingress), inPod(ingress));
  expect(containerOf(ingress).ports).toEqual([
    { name: 'http', containerPort: config.ingressPort },
    { name: 'metrics', containerPort: config.ingressMetricsPort },
  ]);
  expect(config.payloads).toMatchObject({ encrypts: true, keys: [{ kid: 'p1' }] });
  const journal = containerOf(ingress).volumeMounts.find(({ name }) => name === 'journal');
  expect(config.journalDir?.startsWith(`${journal?.mountPath}/`)).toBe(true);
  expect(() => inPod(ingress)('/run/secrets/keys/sealing-keys')).toThrow();
  expect(() => inPod(ingress)('/run/secrets/accounts/business')).toThrow();
});

it('a desk gets settings that it takes, with a sign-in, and no key but those of payloads and sessions', () => {
  const map = { FARETRAIL_DESK_ISSUER: 'https://login.example', FARETRAIL_DESK_CLIENT_ID: 'desk' };
  const env = { ...environment(desk), ...map, FARETRAIL_DESK_URL: 'https://desk.example' };
  const config = loadCliConfig(env, inPod(desk));
  expect(containerOf(desk).ports).toEqual([{ name: 'http', containerPort: config.desk.port }]);
  expect(config).toMatchObject({
    store: { url: 'postgresql://reader@db.example/rides' },
    desk: { host: '0.0.0.0', login: { clientId: 'desk' }, keys: [{ kid: 'd1' }] },
    payloads: { encrypts: true, keys: [{ kid: 'p1' }] },
  });
  for (const key of ['sealing-keys', 'webhook-keys']) expect(() => inPod(desk)(`/run/secrets/keys/${key}`)).toThrow();
});

it.each([
  ['store', 'postgresql://faretrail@db.example/rides', { store: { url: 'postgresql://faretrail@db.example/rides' } }],
  ['notices', `n1:${'A'.repeat(43)}`, { notify: { secrets: [{ kid: 'n1' }] } }],
])('the component %s adds a variable that the worker reads', (name, text, config) => {
  const { patches } = parse(read(`kubernetes/components/${name}/kustomization.yaml`));
  const { value } = parse(patches[0].patch)[0];
  const mounted = (file: string) => (file.startsWith('/run/secrets/keys/') ? text : readFileSync(file, 'utf8'));
  const env = workerEnv('http://127.0.0.1:1', { [value.name]: value.value });
  expect(loadWorkerConfig(env, mounted)).toMatchObject(config);
});

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;
const more = ['desk', 'store', 'notices', 'network-policy', 'prometheus'];
it.runIf(hasKubectl).each([[[]], [[...more, 'keda']], [[...more, 'worker-controller']]])(
  'kustomize builds the base with the components %j',
  (components) => {
    const overlay = mkdtempSync(join(tmpdir(), 'faretrail-overlay-'));
    const base = relative(overlay, inProject('deploy/kubernetes'));
    const lists = { resources: [base], components: components.map((name) => `${base}/components/${name}`) };
    writeFileSync(join(overlay, 'kustomization.yaml'), JSON.stringify(lists));
    const built = spawnSync('kubectl', ['kustomize', '--load-restrictor=LoadRestrictionsNone', overlay], {
      encoding: 'utf8',
    });
    expect(built).toMatchObject({ status: 0, stderr: '' });
    expect(built.stdout).toContain('name: faretrail-worker');
  },
);

it('the rules for the Prometheus operator are those of the alerts file', () => {
  expect(parse(read('kubernetes/components/prometheus/rules.yaml')).spec).toEqual(
    parse(read('observability/alerts.yml')),
  );
});
