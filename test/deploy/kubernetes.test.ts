import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Env, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import { encodedKey } from '../settings/env.js';
import { commandFile, inProject, kubernetesObjects } from './deployment-files.js';

const Labels = z.record(z.string(), z.string());
const Probe = z.looseObject({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const Container = z.looseObject({
  image: z.string(),
  args: z.array(z.string()),
  env: z.array(z.object({ name: z.string(), value: z.string() })),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
  livenessProbe: Probe,
  readinessProbe: Probe,
  startupProbe: Probe,
  resources: z.looseObject({ requests: Labels, limits: Labels }),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() })),
});
const Volume = z.looseObject({
  name: z.string(),
  configMap: z.object({ name: z.string() }).optional(),
  secret: z
    .looseObject({ secretName: z.string(), items: z.array(z.object({ path: z.string() })).optional() })
    .optional(),
});
const PodOwner = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    selector: z.object({ matchLabels: Labels }),
    template: z.object({
      metadata: z.looseObject({ labels: Labels }),
      spec: z.looseObject({
        enableServiceLinks: z.literal(false),
        automountServiceAccountToken: z.literal(false),
        terminationGracePeriodSeconds: z.number(),
        securityContext: z.looseObject({ runAsNonRoot: z.literal(true), runAsUser: z.literal(1000) }),
        containers: z.tuple([Container]),
        volumes: z.array(Volume),
      }),
    }),
  }),
});
const Selecting = z.looseObject({
  kind: z.string(),
  spec: z.looseObject({
    selector: z.union([z.object({ matchLabels: Labels }).transform(({ matchLabels }) => matchLabels), Labels]),
    ports: z.array(z.looseObject({ targetPort: z.string() })).optional(),
  }),
});

const [workerObject, ...besideWorker] = kubernetesObjects('worker.yaml');
const [ingressObject, ...besideIngress] = kubernetesObjects('ingress.yaml');
const worker = PodOwner.parse(workerObject);
const ingress = PodOwner.parse(ingressObject);
const podOf = ({ spec }: z.infer<typeof PodOwner>) => spec.template.spec;
const containerOf = (owner: z.infer<typeof PodOwner>) => podOf(owner).containers[0];

const kustomization = parse(readFileSync(inProject('deploy/kubernetes/kustomization.yaml'), 'utf8'));
const settings = Object.fromEntries(
  readFileSync(inProject('deploy/kubernetes/settings.env'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(/=(.*)/).slice(0, 2) as [string, string]),
);

/** What a pod has in its environment. */
const environment = (owner: z.infer<typeof PodOwner>): Env => ({
  ...settings,
  ...Object.fromEntries(containerOf(owner).env.map(({ name, value }) => [name, value])),
});

/** Reads what the volumes of a pod hold at a path. */
const inPod = (owner: z.infer<typeof PodOwner>) => (path: string) => {
  const mount = containerOf(owner).volumeMounts.find(({ mountPath }) => path.startsWith(`${mountPath}/`));
  const volume = podOf(owner).volumes.find(({ name }) => name === mount?.name);
  const file = path.slice((mount?.mountPath.length ?? 0) + 1);
  if (volume?.configMap) return readFileSync(inProject(`deploy/kubernetes/${file}`), 'utf8');
  const isThere = volume?.secret && (volume.secret.items ?? [{ path: file }]).some((item) => item.path === file);
  if (!isThere) throw Object.assign(new Error(path), { code: 'ENOENT' });
  return file === 'sealing-keys' ? `k1:${encodedKey(1)}` : `w1:${encodedKey(2)}`;
};

describe.each([
  ['worker', worker, besideWorker],
  ['ingress', ingress, besideIngress],
])('the %s', (command, owner, beside) => {
  it('runs its command of the image, not as root, with a read-only file system', () => {
    const container = containerOf(owner);
    expect(container.args).toEqual([command]);
    expect(commandFile(command)).toBeDefined();
    expect(kustomization.images).toContainEqual({ name: container.image, newTag: expect.stringMatching(/^\d/) });
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

  it('is found by its budget and its services', () => {
    const { labels } = owner.spec.template.metadata;
    expect(labels).toMatchObject(owner.spec.selector.matchLabels);
    const selecting = beside.map((object) => Selecting.parse(object));
    expect(selecting.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['PodDisruptionBudget', 'Service']));
    for (const { spec } of selecting) {
      expect(labels).toMatchObject(spec.selector);
      for (const { targetPort } of spec.ports ?? []) expect(containerOf(owner).ports[0]?.name).toBe(targetPort);
    }
  });

  it('has a volume for each mount', () => {
    const volumes = podOf(owner).volumes.map(({ name }) => name);
    const claims = (owner.spec.volumeClaimTemplates ?? []) as { metadata: { name: string } }[];
    const known = [...volumes, ...claims.map(({ metadata }) => metadata.name)];
    const mounted = containerOf(owner).volumeMounts.map(({ name }) => name);
    expect(mounted.sort()).toEqual(known.sort());
  });
});

it('gives a worker settings that it takes, and time to end the calls under way', () => {
  const config = loadWorkerConfig(environment(worker), inPod(worker));
  expect(config.accounts).toHaveLength(2);
  expect(containerOf(worker).ports).toEqual([{ name: 'metrics', containerPort: config.metricsPort }]);
  expect(podOf(worker).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(60);
});

it('gives an ingress settings that it takes, a journal that outlives it, and neither credentials nor keys of tokens', () => {
  const config = loadIngressConfig(environment(ingress), inPod(ingress));
  expect(containerOf(ingress).ports).toEqual([{ name: 'http', containerPort: config.ingressPort }]);
  const journal = containerOf(ingress).volumeMounts.find(({ name }) => name === 'journal');
  expect(config.journalDir?.startsWith(`${journal?.mountPath}/`)).toBe(true);
  expect(() => inPod(ingress)('/run/secrets/keys/sealing-keys')).toThrow();
  expect(podOf(ingress).volumes.flatMap(({ secret }) => secret?.secretName ?? [])).toEqual(['faretrail-keys']);
});
