import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../stack/run/until.js';
import type { Cluster } from './kubernetes-cluster.js';

/** An overlay in a namespace of its own. */
export interface Applied {
  cluster: Cluster;
  namespace: string;
  /** For files of ours. */
  folder: string;
  came(line: string): void;
  wrong(line: string): void;
}

interface Named {
  kind: string;
  metadata: {
    name: string;
    generation?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
}
interface Template {
  metadata: object;
  spec: { containers: { image: string; envFrom: { configMapRef: { name: string } }[] }[] };
}
/** A Deployment, a ReplicaSet, a StatefulSet or a WorkerDeployment. */
interface Owner extends Named {
  spec: { replicas: number; template: Template };
  status?: { observedGeneration?: number; updateRevision?: string };
}
interface Budget extends Named {
  status?: { expectedPods?: number };
}

/** What an owner of pods runs next. */
interface Revision {
  owner: string;
  /** The same template has the same hash. */
  hash: string;
  image: string;
  settings: string;
  replicas: number;
  /** Pods of this revision, and of others. */
  pods: { these: number; others: number };
}

const patience = { withinMs: 120_000, everyMs: 1_000 };
const inNamespace = ({ namespace }: Applied): string => `--namespace=${namespace}`;

/** The newest revisions of all owners of pods, once the controllers have made their pods. */
async function settled(applied: Applied, isSo: (revisions: Revision[]) => boolean): Promise<Revision[]> {
  let seen: Revision[] = [];
  const isThere = async () => {
    seen = await revisionsIn(applied);
    return isSo(seen);
  };
  await until('', isThere, patience).catch(async () => {
    const ofWarnings = ['--field-selector=type=Warning', inNamespace(applied)];
    const { out } = await applied.cluster.kubectl('get', 'events', ...ofWarnings);
    applied.wrong(`the controllers did not get there: ${JSON.stringify(seen)}\n${out}`);
  });
  return seen;
}

async function revisionsIn(applied: Applied): Promise<Revision[]> {
  const { list } = applied.cluster;
  const owners = await list<Owner>('deployments,statefulsets', inNamespace(applied));
  const sets = await list<Owner>('replicasets', inNamespace(applied));
  const pods = await list<Named>('pods', inNamespace(applied));
  return owners.map((owner) => {
    const hash = owner.kind === 'Deployment' ? newestHash(owner, sets) : (owner.status?.updateRevision ?? '');
    const { name, generation } = owner.metadata;
    const own = pods.filter(({ metadata }) => metadata.name.startsWith(`${name}-`));
    const these = own.filter(({ metadata }) => Object.values(metadata.labels ?? {}).includes(hash)).length;
    const isSeen = owner.status?.observedGeneration === generation;
    const pod = { these: isSeen ? these : 0, others: own.length - these };
    return { owner: `${owner.kind} ${name}`, hash, ...settingsOf(owner), replicas: owner.spec.replicas, pods: pod };
  });
}

/** The hash of the ReplicaSet with the highest revision. */
function newestHash(owner: Owner, sets: readonly Owner[]): string {
  const revisionOf = ({ metadata }: Named) => Number(metadata.annotations?.['deployment.kubernetes.io/revision']);
  const own = sets.filter(({ metadata }) => metadata.name.startsWith(`${owner.metadata.name}-`));
  const newest = own.toSorted((a, b) => revisionOf(b) - revisionOf(a))[0];
  return newest?.metadata.labels?.['pod-template-hash'] ?? '';
}

function settingsOf({ spec }: Owner): { image: string; settings: string } {
  const [container] = spec.template.spec.containers;
  return { image: container?.image ?? '', settings: container?.envFrom[0]?.configMapRef.name ?? '' };
}

/** All pods of each owner are there, admitted by Pod Security, with their journals, and the budgets count them. */
export async function checkPods(applied: Applied): Promise<Revision[]> {
  const { list } = applied.cluster;
  const revisions = await settled(applied, (all) =>
    all.every(({ pods, replicas }) => pods.these === replicas && pods.others === 0),
  );
  const replicas = new Map(revisions.map(({ owner, replicas }) => [owner.split(' ')[1] ?? '', replicas]));
  const expected = async () =>
    (await list<Budget>('poddisruptionbudgets', inNamespace(applied)))
      .filter(({ metadata }) => replicas.has(metadata.name))
      .every(({ metadata, status }) => status?.expectedPods === replicas.get(metadata.name));
  await until('', expected, patience).catch(() => applied.wrong('a disruption budget does not count its pods'));
  const claims = await list<Named>('persistentvolumeclaims', inNamespace(applied));
  const journals = claims.map(({ metadata }) => metadata.name).join();
  if (journals !== 'journal-faretrail-ingress-0,journal-faretrail-ingress-1') applied.wrong(`journals: ${journals}`);
  const counts = [...replicas].map(([name, count]) => `${count} pods of ${name}`).join(' and ');
  applied.came(`${counts} admitted, with their journals, and counted by the budgets`);
  return revisions;
}

/** KEDA's autoscaler changes the number of workers, and the next `kubectl apply` has to leave it. */
export async function scaleAsKeda({ cluster, wrong, namespace }: Applied): Promise<void> {
  const told = await cluster.kubectl(
    'scale',
    'deployment/faretrail-worker',
    '--replicas=3',
    `--namespace=${namespace}`,
  );
  if (told.complaints !== '') wrong(`scaled: ${told.complaints}`);
}

/** The pods of a WorkerDeployment, which only Temporal's worker controller would make, would be admitted. */
export async function checkWorkerDeployment(applied: Applied, wanted: string): Promise<void> {
  const [owner] = await applied.cluster.list<Owner>('workerdeployments.temporal.io', inNamespace(applied));
  if (owner === undefined) return;
  const file = join(applied.folder, 'pod.json');
  const { metadata, spec } = owner.spec.template;
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'of-the-template' }, spec };
  writeFileSync(file, JSON.stringify(pod));
  const told = await applied.cluster.kubectl('create', '--dry-run=server', `--filename=${file}`, inNamespace(applied));
  if (told.complaints !== '') applied.wrong(`a pod of the WorkerDeployment: ${told.complaints}`);
  const { image, settings } = settingsOf(owner);
  const map = await applied.cluster.kubectl('get', 'configmap', settings, inNamespace(applied));
  if (image !== wanted || map.isRefused) applied.wrong(`the WorkerDeployment has ${image} and ${settings}`);
}

/** A change has made a new revision of each owner, whose first pod is admitted. It never is ready here, so the other pods stay. */
export async function checkRoll(applied: Applied, before: readonly Revision[], image: string): Promise<Revision[]> {
  const old = new Map(before.map(({ owner, hash }) => [owner, hash]));
  const isRolled = ({ owner, hash, pods, replicas, image: own }: Revision) => {
    const stay = owner.startsWith('Deployment') ? replicas : replicas - 1; // a Deployment adds its new pod first
    return hash !== old.get(owner) && own === image && pods.these === 1 && pods.others === stay;
  };
  return await settled(applied, (all) => all.every(isRolled));
}

/** `kubectl rollout undo` leads back to the revision before. */
export async function checkUndo(applied: Applied, wanted: readonly Revision[]): Promise<void> {
  for (const { owner } of wanted) {
    const told = await applied.cluster.kubectl('rollout', 'undo', owner.replace(' ', '/'), inNamespace(applied));
    if (told.complaints !== '') applied.wrong(`undo: ${told.complaints}`);
  }
  const hashOf = (name: string) => wanted.find(({ owner }) => owner === name)?.hash;
  await settled(applied, (all) => all.every(({ owner, hash, pods }) => hash === hashOf(owner) && pods.these > 0));
}

/** After a removal only the journals and the map of the earlier settings are there, and their labels find both. */
export async function checkRemains(applied: Applied): Promise<void> {
  const { kubectl } = applied.cluster;
  const kinds = (await kubectl('api-resources', '--verbs=list', '--namespaced', '--output=name')).out
    .trim()
    .split('\n');
  const all = kinds.filter((kind) => !kind.startsWith('events')).join();
  const ofKubernetes = ['configmap/kube-root-ca.crt', 'serviceaccount/default'];
  const left = async (): Promise<string> => {
    const { out } = await kubectl('get', all, '--output=name', inNamespace(applied));
    const names = out.split('\n').filter((name) => name !== '' && !ofKubernetes.includes(name));
    return names
      .toSorted()
      .join(', ')
      .replace(/(?<=settings-)[^,]+/, '<hash>');
  };
  const journals = [0, 1].map((pod) => `persistentvolumeclaim/journal-faretrail-ingress-${pod}`).join(', ');
  const map = 'configmap/faretrail-settings-<hash>';
  const isLeft = async (wanted: string) =>
    await until('', async () => (await left()) === wanted, patience).catch(async () =>
      applied.wrong(`left behind: ${await left()}`),
    );
  await isLeft(`${map}, ${journals}`);
  const remove = (kind: string, label: string) =>
    kubectl('delete', kind, `--selector=app.kubernetes.io/${label}`, inNamespace(applied));
  await remove('configmap', 'part-of=faretrail');
  await isLeft(journals);
  await remove('persistentvolumeclaim', 'name=faretrail-ingress');
  await isLeft('');
  applied.came('removed but for two journals and the map of the earlier settings');
}
