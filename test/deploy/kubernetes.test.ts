import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Env, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import { encodedKey } from '../settings/env.js';
import { commandFile, inProject, kubernetesObjects } from './deployment-files.js';

type Labels = Record<string, string>;
type Probe = { httpGet: { path: string; port: string } };
/** A Deployment or a StatefulSet, as far as the tests ask. */
interface PodOwner {
  spec: {
    selector: { matchLabels: Labels };
    volumeClaimTemplates?: { metadata: { name: string } }[];
    template: {
      metadata: { labels: Labels };
      spec: {
        terminationGracePeriodSeconds: number;
        containers: [Container];
        volumes: { name: string; configMap?: object; secret?: { secretName: string; items?: { path: string }[] } }[];
      };
    };
  };
}
interface Container extends Record<'livenessProbe' | 'readinessProbe' | 'startupProbe', Probe> {
  image: string;
  args: string[];
  env: { name: string; value: string }[];
  ports: { name: string; containerPort: number }[];
  resources: object;
  securityContext: object;
  volumeMounts: { name: string; mountPath: string }[];
}
/** A PodDisruptionBudget or a Service. */
interface Selecting {
  kind: string;
  spec: { selector: { [label: string]: unknown; matchLabels?: Labels }; ports?: { targetPort: string }[] };
}

const [worker, ...besideWorker] = kubernetesObjects('worker.yaml') as [PodOwner, ...Selecting[]];
const [ingress, ...besideIngress] = kubernetesObjects('ingress.yaml') as [PodOwner, ...Selecting[]];
const podOf = ({ spec }: PodOwner) => spec.template.spec;
const containerOf = (owner: PodOwner) => podOf(owner).containers[0];

const kustomization = parse(readFileSync(inProject('deploy/kubernetes/kustomization.yaml'), 'utf8'));
const settingsFile = readFileSync(inProject('deploy/kubernetes/settings.env'), 'utf8');
const settings = Object.fromEntries(
  [...settingsFile.matchAll(/^(.+?)=(.*)$/gm)].map(([, name, value]) => [name, value]),
);

/** What a pod has in its environment. */
const environment = (owner: PodOwner): Env => ({
  ...settings,
  ...Object.fromEntries(containerOf(owner).env.map(({ name, value }) => [name, value])),
});

const keyFiles: Record<string, string> = {
  'sealing-keys': `k1:${encodedKey(1)}`,
  'webhook-keys': `w1:${encodedKey(2)}`,
  'payload-keys': `p1:${encodedKey(3)}`,
};

/** Reads what the volumes of a pod hold at a path. */
const inPod = (owner: PodOwner) => (path: string) => {
  const mount = containerOf(owner).volumeMounts.find(({ mountPath }) => path.startsWith(`${mountPath}/`));
  const volume = podOf(owner).volumes.find(({ name }) => name === mount?.name);
  const file = path.slice((mount?.mountPath.length ?? 0) + 1);
  if (volume?.configMap) return readFileSync(inProject(`deploy/kubernetes/${file}`), 'utf8');
  const isThere = volume?.secret && (volume.secret.items ?? [{ path: file }]).some((item) => item.path === file);
  if (!isThere) throw Object.assign(new Error(path), { code: 'ENOENT' });
  return keyFiles[file] ?? 'a client secret';
};

describe.each([
  ['worker', worker, besideWorker],
  ['ingress', ingress, besideIngress],
])('the pod of the %s', (command, owner, beside) => {
  it('runs its command of the image, not as root, with a read-only file system and without rights in the cluster', () => {
    const container = containerOf(owner);
    expect(container.args).toEqual([command]);
    expect(commandFile(command)).toBeDefined();
    expect(kustomization.images).toContainEqual({ name: container.image, newTag: expect.stringMatching(/^\d/) });
    const rights = { enableServiceLinks: false, automountServiceAccountToken: false };
    const securityContext = { runAsNonRoot: true, runAsUser: 1000 };
    expect(podOf(owner)).toMatchObject({ ...rights, securityContext, containers: [container] });
    const confined = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
    expect(container.securityContext).toEqual(confined);
    const memory = expect.any(String);
    expect(container.resources).toMatchObject({ requests: { memory }, limits: { memory } });
  });

  it('is probed at a port that it opens', () => {
    const { ports, livenessProbe, readinessProbe, startupProbe } = containerOf(owner);
    const probes = [livenessProbe, readinessProbe, startupProbe].map(({ httpGet }) => httpGet);
    expect(probes.map(({ path }) => path)).toEqual(['/healthz', '/readyz', '/healthz']);
    for (const { port } of probes) expect(ports.map(({ name }) => name)).toContain(port);
  });

  it('is selected by its budget and its services', () => {
    const { labels } = owner.spec.template.metadata;
    expect(labels).toMatchObject(owner.spec.selector.matchLabels);
    expect(beside.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['PodDisruptionBudget', 'Service']));
    for (const { spec } of beside) {
      expect(labels).toMatchObject(spec.selector.matchLabels ?? spec.selector);
      for (const { targetPort } of spec.ports ?? []) expect(containerOf(owner).ports[0]?.name).toBe(targetPort);
    }
  });

  it('has a volume for each mount', () => {
    const volumes = podOf(owner).volumes.map(({ name }) => name);
    const claims = (owner.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
    const mounted = containerOf(owner).volumeMounts.map(({ name }) => name);
    expect(mounted.sort()).toEqual([...volumes, ...claims].sort());
  });
});

it('the Deployment gives a worker settings that it takes, and time to end the calls under way', () => {
  const config = loadWorkerConfig(environment(worker), inPod(worker));
  expect(config.accounts).toHaveLength(2);
  expect(containerOf(worker).ports).toEqual([{ name: 'metrics', containerPort: config.metricsPort }]);
  expect(podOf(worker).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(60);
});

it('an ingress gets settings that it takes, a journal that outlives it, and neither credentials nor keys of tokens', () => {
  const config = loadIngressConfig(environment(ingress), inPod(ingress));
  expect(containerOf(ingress).ports).toEqual([
    { name: 'http', containerPort: config.ingressPort },
    { name: 'metrics', containerPort: config.ingressMetricsPort },
  ]);
  const journal = containerOf(ingress).volumeMounts.find(({ name }) => name === 'journal');
  expect(config.journalDir?.startsWith(`${journal?.mountPath}/`)).toBe(true);
  expect(() => inPod(ingress)('/run/secrets/keys/sealing-keys')).toThrow();
  expect(podOf(ingress).volumes.flatMap(({ secret }) => secret?.secretName ?? [])).toEqual(['faretrail-keys']);
});

it('both pods encrypt payloads, with a key of the secret that the page about deploying has made', () => {
  for (const config of [
    loadWorkerConfig(environment(worker), inPod(worker)),
    loadIngressConfig(environment(ingress), inPod(ingress)),
  ]) {
    expect(config.payloads).toMatchObject({ encrypts: true, keys: [{ kid: 'p1' }] });
  }
  const page = readFileSync(inProject('docs/how-to/deploy.md'), 'utf8');
  for (const key of Object.keys(keyFiles)) expect(page).toContain(`--from-file=${key}=`);
});
