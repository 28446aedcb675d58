import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../stack/temporal/project-root.js';
import { type Cluster, startCluster } from './kubernetes-cluster.js';
import {
  type Applied,
  checkPods,
  checkRemains,
  checkRoll,
  checkUndo,
  checkWorkerDeployment,
  scaleAsKeda,
} from './kubernetes-rollout.js';
import type { Row, Wanted } from './report.js';
import { debianTool, goTool } from './tools.js';

const deployment = join(projectRoot, 'deploy/kubernetes');
const pins = join(projectRoot, 'dev/faults/counterparts/programs/kubernetes/definitions.json');

/** What an overlay sets, as docs/how-to/deploy.md says. */
interface Overlay {
  namespace: string;
  components: readonly string[];
  tag: string;
  logLevel: string;
  /** Adds a field that no kind has. */
  surplus?: boolean;
}

/** The base and its components are applied to a real API server, rolled by the real controllers, and removed. No pod runs. */
export async function kubernetes({ say, onEnd }: Wanted): Promise<Row[]> {
  const etcd = await debianTool('etcd-server', '3.4.23-4+b4', say, 'etcd');
  const apiServer = await goTool('kube-apiserver', say);
  const controllers = await goTool('kube-controller-manager', say);
  const kubectl = await goTool('kubectl', say);
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-kubernetes-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const cluster = await startCluster({ etcd, apiServer, controllers, kubectl }, folder, onEnd);
  say('the API server and the controllers are up');

  const rows = await loadDefinitions(cluster);
  const all = readdirSync(join(deployment, 'components')).toSorted(); // worker-controller comes last, as it has to
  const without = (name: string) => all.filter((one) => one !== name); // these two exclude each other
  const sets = { 'base-alone': [], 'with-keda': without('worker-controller'), 'with-controller': without('keda') };
  for (const [namespace, components] of Object.entries(sets)) {
    const what = ['the base', ...components].join(', ');
    say(`${namespace}: ${what}`);
    const came: string[] = [];
    const wrong: string[] = [];
    const own = mkdtempSync(join(folder, 'overlay-'));
    const notes = { came: (line: string) => came.push(line), wrong: (line: string) => wrong.push(line) };
    await lifeOf(components, { cluster, namespace, folder: own, ...notes });
    const tried = `${what}: applied, compared, rolled, undone, removed`;
    rows.push({ tool: apiServer.name, version: apiServer.version, tried, came: came.join('; '), wrong });
  }
  return rows;
}

/** Loads the custom types that the components use. */
async function loadDefinitions({ kubectl }: Cluster): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [pinned, files] of Object.entries<string>(JSON.parse(readFileSync(pins, 'utf8')))) {
    const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', pinned], { cwd: tmpdir() });
    const folder = join(JSON.parse(stdout).Dir, dirname(files));
    const told = await kubectl('apply', '--server-side', `--filename=${folder}`);
    const wait = await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s');
    const [tool = '', version = ''] = pinned.split('@v');
    const wrong = `${told.complaints}${wait.complaints}`.split('\n').filter((line) => line !== '');
    rows.push({ tool, version, tried: 'its custom types loaded', came: `${linesOf(told.out).length} types`, wrong });
  }
  return rows;
}

/** The life of one overlay in a namespace that enforces the restricted standard. */
async function lifeOf(components: readonly string[], applied: Applied): Promise<void> {
  const { namespace, folder, came, wrong } = applied;
  const { kubectl } = applied.cluster;
  const overlay = { namespace, components, tag: '1.0.0', logLevel: 'info' };
  const imageOf = (tag: string) => `images.example/faretrail:${tag}`;
  const withoutComplaint = async (...args: string[]): Promise<string[]> => {
    const { out, complaints } = await kubectl(...args);
    for (const line of linesOf(complaints)) wrong(line);
    return linesOf(out);
  };
  const apply = async (changed: Partial<Overlay>): Promise<string[]> => {
    writeOverlay(folder, { ...overlay, ...changed });
    return await withoutComplaint('apply', `--kustomize=${folder}`, '--validate=strict');
  };

  await withoutComplaint('create', 'namespace', namespace);
  const levels = ['enforce', 'warn', 'audit'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
  await withoutComplaint('label', 'namespace', namespace, ...levels);
  const first = await apply({});
  came(`${first.length} objects taken without a warning`);
  if (components.includes('keda')) await scaleAsKeda(applied);
  const again = await kubectl('diff', `--kustomize=${folder}`);
  const differences = linesOf(again.out).filter((line) => /^[-+] /.test(line));
  if (again.isRefused) wrong(`applied again, it would change: ${differences.join('\n')}${again.complaints}`);
  await checkRefusals(applied, overlay, first);

  const atFirst = await checkPods(applied);
  await checkWorkerDeployment(applied, imageOf('1.0.0'));
  await apply({ tag: '1.1.0' });
  const newImage = await checkRoll(applied, atFirst, imageOf('1.1.0'));
  await apply({ tag: '1.1.0', logLevel: 'debug' });
  const newSetting = await checkRoll(applied, newImage, imageOf('1.1.0'));
  await checkWorkerDeployment(applied, imageOf('1.1.0'));
  await checkUndo(applied, newImage);
  came(
    `a new revision of ${newSetting.map(({ owner }) => owner).join(' and ')} for the image and for the setting; undone`,
  );

  await withoutComplaint('delete', `--kustomize=${folder}`);
  await checkRemains(applied);
  await withoutComplaint('delete', 'namespace', namespace, '--timeout=120s');
}

/** The server does refuse: a pod that is not restricted, and in each kind a field that it does not have. */
async function checkRefusals({ cluster, folder, namespace, wrong }: Applied, overlay: Overlay, objects: string[]) {
  const bare = await cluster.kubectl('run', 'bare', '--image=faretrail', `--namespace=${namespace}`);
  if (!bare.complaints.includes('violates PodSecurity "restricted:latest"')) wrong(`a bare pod was taken: ${bare.out}`);
  writeOverlay(folder, { ...overlay, surplus: true });
  const surplus = await cluster.kubectl('apply', `--kustomize=${folder}`, '--validate=strict', '--dry-run=server');
  const refused = surplus.complaints.match(/unknown field "spec.surplus"/g)?.length ?? 0;
  const withSpec = objects.filter((line) => !/^(configmap|serviceaccount)\//.test(line)).length;
  if (refused !== withSpec)
    wrong(`a surplus field was refused ${refused} times, not ${withSpec}: ${surplus.complaints}`);
}

function writeOverlay(folder: string, { namespace, components, tag, logLevel, surplus = false }: Overlay): void {
  const base = relative(folder, deployment);
  const kind = '.*(Deployment|Set|Service|Budget|Policy|Monitor|Rule|Object|Connection)';
  const patch = JSON.stringify([{ op: 'add', path: '/spec/surplus', value: 1 }]);
  const overlay = {
    ...{ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', namespace, resources: [base] },
    components: components.map((name) => `${base}/components/${name}`),
    images: [{ name: 'faretrail', newName: 'images.example/faretrail', newTag: tag }],
    configMapGenerator: [
      { name: 'faretrail-settings', behavior: 'merge', literals: [`FARETRAIL_LOG_LEVEL=${logLevel}`] },
      ...(components.includes('desk') ? [{ name: 'faretrail-desk', literals: ['FARETRAIL_DESK_CLIENT_ID=desk'] }] : []),
    ],
    ...(surplus && { patches: [{ target: { kind }, patch }] }),
  };
  writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(overlay));
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');
