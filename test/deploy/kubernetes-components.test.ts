import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadWorkerConfig } from '../../src/config.js';
import { replayGate } from '../../src/workflows/replay-gate.js';
import { workerEnv } from '../support/accounts.js';
import { inProject, kubernetesObjects } from './deployment-files.js';

const read = (path: string): string => readFileSync(inProject(path), 'utf8');
const component = <T>(path: string): T[] => kubernetesObjects(`components/${path}`) as T[];
const nameLabel = 'app.kubernetes.io/name';

interface PodOwner {
  metadata: { name: string };
  spec: {
    replicas: number;
    template: {
      metadata: { labels: Record<string, string> };
      spec: { containers: [{ ports: { name: string; containerPort: number }[] }] };
    };
  };
}
const [worker] = kubernetesObjects('worker.yaml') as [PodOwner];
const [ingress] = kubernetesObjects('ingress.yaml') as [PodOwner];
const portsOf = ({ spec }: PodOwner) => spec.template.spec.containers[0].ports;
const labelOf = ({ spec }: PodOwner) => spec.template.metadata.labels[nameLabel];

const settings = Object.fromEntries(
  [...read('deploy/kubernetes/settings.env').matchAll(/^(.+?)=(.*)$/gm)].map(([, name = '', value]) => [name, value]),
);
const alerts = parse(read('deploy/observability/alerts.yml'));

it.each(['store', 'notices', 'network-policy', 'prometheus', 'keda', 'worker-controller', 'worker-controller/copy'])(
  'the component %s names only files that are there, and the page about deploying names it',
  (name) => {
    const file = inProject(`deploy/kubernetes/components/${name}/kustomization.yaml`);
    const { kind, resources = [], components = [], configurations = [] } = parse(readFileSync(file, 'utf8'));
    expect(kind).toBe('Component');
    const missing = [...resources, ...components, ...configurations].filter(
      (path) => !existsSync(join(dirname(file), path)),
    );
    expect(missing).toEqual([]);
    expect(read('docs/how-to/deploy.md')).toContain(`\`${name.split('/')[0]}\``);
  },
);

it.each([
  ['store', 'postgresql://faretrail@db.example/rides', { store: { url: 'postgresql://faretrail@db.example/rides' } }],
  ['notices', `n1:${'A'.repeat(43)}`, { notify: { secrets: [{ kid: 'n1' }] } }],
])(
  'the component %s adds a variable that the worker reads, from a key of the secret that it has',
  (name, text, read) => {
    const { patches } = parse(
      readFileSync(inProject(`deploy/kubernetes/components/${name}/kustomization.yaml`), 'utf8'),
    );
    const [{ target, patch }] = patches;
    const [{ path, value }] = parse(patch);
    expect([target.name, path]).toEqual([worker.metadata.name, '/spec/template/spec/containers/0/env/-']);
    const mounted = (file: string) => (file.startsWith('/run/secrets/keys/') ? text : readFileSync(file, 'utf8'));
    const env = workerEnv('http://127.0.0.1:1', { [value.name]: value.value });
    expect(loadWorkerConfig(env, mounted)).toMatchObject(read);
  },
);

interface NetworkPolicy {
  spec: {
    podSelector: { matchLabels: Record<string, string> };
    policyTypes: string[];
    ingress: { ports: { port: number }[] }[];
    egress?: { to: unknown[]; ports: { port: number }[] }[];
  };
}

it('the network policies open the ports of the pods and no other, and the ingress may reach Temporal and DNS alone', () => {
  const [ofIngress, ofWorker] = component<NetworkPolicy>('network-policy/network-policy.yaml');
  for (const [policy, owner] of [[ofIngress, ingress] as const, [ofWorker, worker] as const]) {
    expect(policy?.spec.podSelector.matchLabels).toEqual({ [nameLabel]: labelOf(owner) });
    const opened = policy?.spec.ingress.flatMap(({ ports }) => ports.map(({ port }) => port));
    expect(opened).toEqual(portsOf(owner).map(({ containerPort }) => containerPort));
  }
  expect(ofIngress?.spec.policyTypes).toEqual(['Ingress', 'Egress']);
  const reached = ofIngress?.spec.egress?.flatMap(({ to, ports }) => (to.length > 0 ? ports : []));
  const temporalPort = Number(settings.TEMPORAL_ADDRESS?.split(':')[1]);
  expect(reached?.map(({ port }) => port)).toEqual([temporalPort, 53, 53]);
  // A worker calls the service and receivers anywhere.
  expect(ofWorker?.spec.policyTypes).toEqual(['Ingress']);
});

interface PodMonitor {
  spec: {
    jobLabel: string;
    selector: { matchExpressions: [{ key: string; values: string[] }] };
    podMetricsEndpoints: { port: string }[];
  };
}

it('the pods are scraped at their port, as the jobs that the alerts ask for', () => {
  const [monitor] = component<PodMonitor>('prometheus/pod-monitor.yaml');
  const [{ key, values }] = monitor?.spec.selector.matchExpressions ?? expect.fail();
  expect([monitor?.spec.jobLabel, key]).toEqual([nameLabel, nameLabel]);
  expect(values).toEqual([worker, ingress].map(labelOf));
  for (const { port } of monitor?.spec.podMetricsEndpoints ?? [])
    for (const owner of [worker, ingress]) expect(portsOf(owner).map(({ name }) => name)).toContain(port);
  const jobs = [...JSON.stringify(alerts).matchAll(/job=\\"([^"\\]+)\\"/g)].map(([, job]) => job);
  expect([...new Set(jobs)].sort()).toEqual([...values].sort());
});

it('the rules for the Prometheus operator are those of the alerts file', () => {
  expect(component<{ spec: object }>('prometheus/rules.yaml').map(({ spec }) => spec)).toEqual([alerts]);
});

interface ScaledObject {
  spec: { scaleTargetRef: object; minReplicaCount: number; triggers: { type: string; metadata: object }[] };
}

it('the autoscaler asks the Temporal server of the settings for the queue of the workers, and keeps as many as the base has', () => {
  const [scaled] = component<ScaledObject>('keda/scaled-object.yaml');
  expect(scaled?.spec).toMatchObject({
    scaleTargetRef: { name: worker.metadata.name },
    minReplicaCount: worker.spec.replicas,
  });
  const { taskQueue } = loadWorkerConfig({ ...workerEnv('http://127.0.0.1:1'), FARETRAIL_TASK_QUEUE: '' });
  const [trigger, slots] = scaled?.spec.triggers ?? [];
  const { TEMPORAL_ADDRESS: endpoint, TEMPORAL_NAMESPACE: namespace } = settings;
  expect(trigger).toMatchObject({ type: 'temporal', metadata: { endpoint, namespace, taskQueue } });
  expect(JSON.stringify(slots)).toContain(`job=\\"${labelOf(worker)}\\"`);
});

it('the worker controller connects to the Temporal server of the settings, and a worker reads the version that it sets', () => {
  const [connection, deployment] = component<{ metadata: { name: string }; spec: object }>(
    'worker-controller/copy/worker-deployment.yaml',
  );
  expect(connection?.spec).toEqual({ hostPort: settings.TEMPORAL_ADDRESS });
  const workerOptions = { connectionRef: connection?.metadata, temporalNamespace: settings.TEMPORAL_NAMESPACE };
  expect(deployment?.spec).toMatchObject({ replicas: worker.spec.replicas, workerOptions });
  expect(deployment?.spec).toMatchObject({ rollout: { gate: { workflowType: replayGate.name } } });
  const version = { TEMPORAL_DEPLOYMENT_NAME: 'rides/faretrail-worker', TEMPORAL_WORKER_BUILD_ID: '1.4.0-1a2b' };
  const { deployment: read } = loadWorkerConfig(workerEnv('http://127.0.0.1:1', version));
  expect(read).toMatchObject({ buildId: '1.4.0-1a2b' });
});
