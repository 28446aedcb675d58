import { Connection } from '@temporalio/client';
import type { Findings } from './report.js';
import { type Order, sandboxNamespace } from './rides.js';
import type { Stack } from './stack.js';

/** Those that compose gives no right and no place to write to but their volumes. */
const hardened = ['worker', 'ingress', 'sandbox-network', 'sandbox-ingress', 'sandbox-worker', 'sandbox'];
/** Lines of the kernel about such a process. */
const confined = [/^CapEff:\s+0+$/m, /^CapBnd:\s+0+$/m, /^NoNewPrivs:\s+1$/m];
const ingresses = ['ingress', 'sandbox-ingress'];

/** What the containers may do, as the kernel and the network see it. */
export async function checkConfinement(stack: Stack, { check }: Findings): Promise<void> {
  const containers = await stack.containers();
  const running = [...containers].filter(([, { State }]) => State.Status === 'running');
  const states = await Promise.all(
    running.map(async ([service]) => [service, await stack.exec(service, 'cat', '/proc/1/status')] as const),
  );
  check(
    'no process is root',
    states.filter(([, status]) => /^Uid:\s+0\b|^Gid:\s+0\b/m.test(status)).map(([service]) => service),
  );
  const ours = states.filter(([service]) => hardened.includes(service));
  check('all hardened services run', hardened.length === ours.length ? [] : [`${ours.length} of ${hardened.length}`]);
  check(
    'no hardened process has a capability, or can get one',
    ours.filter(([, status]) => confined.some((line) => !line.test(status))).map(([service]) => service),
  );
  // As root, whom file permissions do not stop.
  const write =
    'for folder in / /app /etc /usr/local/bin; do touch $folder/written 2> /dev/null && echo $folder; done; true';
  const asRoot = (...command: string[]) => stack.compose('exec', '--no-TTY', '--user=0:0', ...command);
  const written = await Promise.all(
    hardened.map(async (service) => [service, await asRoot(service, 'sh', '-c', write)] as const),
  );
  check(
    'no hardened service can write to its image',
    written
      .filter(([, where]) => where !== '')
      .map(([service, where]) => `${service}: ${where.trim().replaceAll('\n', ' ')}`),
  );
  const open = running.flatMap(([service, { HostConfig }]) =>
    Object.values(HostConfig.PortBindings ?? {}).flatMap((ports) =>
      ports.filter(({ HostIp }) => HostIp !== '127.0.0.1').map(({ HostIp }) => `${service} at ${HostIp}`),
    ),
  );
  check('ports are open on this machine alone', open);
}

/** Readiness and metrics of an ingress are at their own port alone, which is not open outside. */
export async function checkIngressPorts(stack: Stack, { check }: Findings): Promise<void> {
  const paths = ['/readyz', '/metrics', '/healthz'];
  const wanted = ['8480 404', '8480 404', '8480 404', '9465 200', '9465 200', '9465 200'].join();
  const ask = `Promise.all([8480, 9465].flatMap((port) => ${JSON.stringify(paths)}.map((path) =>
    fetch('http://127.0.0.1:' + port + path).then(({ status }) => port + ' ' + status)))).then((all) => console.log(all.join()))`;
  for (const service of ingresses) {
    const answers = (await stack.exec(service, 'node', '--eval', ask)).trim();
    check(`${service} shows readiness and metrics at 9465 alone`, answers === wanted ? [] : [answers]);
  }
  const outside = await Promise.all(
    paths.map(async (path) => [path, (await fetch(`http://127.0.0.1:${stack.ports.ingress}${path}`)).status] as const),
  );
  check(
    'the published port of the ingress shows none of them',
    outside.filter(([, status]) => status !== 404).map(([path, status]) => `${path} ${status}`),
  );
}

/** The number of deliveries in the journal of an ingress, as its metrics say. */
export async function journalled(stack: Stack, service: string): Promise<number> {
  const metrics = await stack.exec(
    service,
    'node',
    '--eval',
    'fetch("http://127.0.0.1:9465/metrics").then((answer) => answer.text()).then(console.log)',
  );
  const [, count] = /^faretrail_journal_deliveries(?:{[^}]*})? (\d+)$/m.exec(metrics) ?? [];
  if (count === undefined) throw new Error('the ingress has no metric faretrail_journal_deliveries');
  return Number(count);
}

/** An order of the sandbox is in the sandbox's namespace, and not in that of real accounts with the same names. */
export async function checkNamespaces(stack: Stack, { check }: Findings, { orderId }: Order): Promise<void> {
  const connection = await Connection.connect({ address: `127.0.0.1:${stack.ports.temporal}` });
  const execution = { workflowId: `order/business/${orderId}` };
  const hasRun = async (namespace: string) => {
    try {
      await connection.workflowService.describeWorkflowExecution({ namespace, execution });
      return true;
    } catch (error) {
      if ((error as { code?: number }).code === 5) return false; // gRPC NOT_FOUND
      throw error;
    }
  };
  const found = [await hasRun(sandboxNamespace), await hasRun('default')];
  await connection.close();
  check('orders of the sandbox are in its own namespace alone', found.join() === 'true,false' ? [] : [found.join()]);
}
