import { Command } from 'commander';
import type { SandboxControl } from '../../sandbox/control/client.js';
import { sandboxCredentials } from '../../sandbox/sandbox.js';
import { until } from '../../stack/run/until.js';
import { isGood, toText } from '../cluster/tally.js';
import { openProfile } from '../profile.js';
import { checkConfinement, checkIngressPorts, checkNamespaces } from './confinement.js';
import { DockerMissing, docker, findDocker } from './docker.js';
import { breakSomething, fillJournal, killIngress, pushedOrders, type Scene } from './faults.js';
import { type Findings, openFindings } from './report.js';
import { openRides } from './rides.js';
import { type Values, valuesIn, valuesInImage } from './search.js';
import { openStack, type Stack } from './stack.js';

const { say, onEnd, isStopped, exitWith } = openProfile('containers');

const upWithin = 90;
const marker = 'trip-marker-1f6c2b9e';
const subscription = ['business', 'status_changed'];

/** Everything from the first build to the second start. */
async function run(stack: Stack, findings: Findings): Promise<void> {
  await findings.time('build of both images', () => stack.compose('build'));
  await searchImages(stack, findings);
  const rides = await start(stack, findings);
  const scene: Scene = { stack, rides, findings };
  await checkConfinement(stack, findings);
  await checkIngressPorts(stack, findings);
  await stack.exec('sandbox-worker', 'faretrail', 'subscription', 'create', ...subscription);
  await breakSomething(scene, 'restart of Temporal', () => stack.compose('restart', 'temporal'));
  for (const service of ['temporal', 'postgres', 'sandbox-worker'])
    await breakSomething(scene, `kill -9 of ${service}`, () => stack.kill(service));
  await killIngress(scene);
  await searchRunning(scene, marker);
  await downAndUp(scene);
}

async function start(stack: Stack, findings: Findings): Promise<Scene['rides']> {
  const upTo = async () => {
    await stack.compose('up', '--detach', 'sandbox');
    const rides = await openRides(stack, onEnd);
    const order = await rides.follow(marker);
    await rides.known([order]);
    return { rides, order };
  };
  const { rides, order } = await findings.time('up, until the first order is followed', upTo, upWithin);
  const others = async () => {
    await stack.compose('up', '--detach');
    await until('not all is healthy', () => stack.isHealthy());
  };
  await findings.time('up of worker and ingress of real accounts, until all is healthy', others);
  await checkNamespaces(stack, findings, order);
  return rides;
}

/** `down` and `up` keep the database and the journal. The second time payloads are encrypted. */
async function downAndUp({ stack, rides: before, findings }: Scene): Promise<void> {
  const orders = await pushedOrders({ rides: before });
  await fillJournal({ stack, rides: before, findings }, orders);
  for (const order of orders) order.earlier = await before.attempts(order);
  await findings.time('down', () => stack.compose('down'));
  stack.settings.FARETRAIL_ENCRYPT_PAYLOADS = 'true';
  const upTo = async () => {
    await stack.compose('up', '--detach');
    const rides = await openRides(stack, onEnd);
    for (const order of orders) await rides.add(order);
    await rides.known([await rides.follow(secretMarker)]);
    return rides;
  };
  const rides = await findings.time('up again, until an order is followed', upTo, upWithin);
  await findings.time('after that, until changes and deliveries from before are known', () => rides.known(orders));
  await stack.exec('sandbox-worker', 'faretrail', 'subscription', 'rotate', ...subscription);
  await rides.change(orders, 'Waiting');
  await rides.acknowledged(orders, 3);
  findings.check('down and up: no status, delivery or end is lost', await rides.complete(orders));
  const found = valuesIn(await databases(stack), new Map([['the reference', secretMarker]]));
  findings.check('encrypted payloads are not in the database in clear', found);
}

const secretMarker = 'trip-marker-83d07fa4';

async function databases(stack: Stack): Promise<string> {
  const dump = (name: string) => stack.exec('postgres', 'pg_dump', '--username=temporal', `--dbname=${name}`);
  return (await dump('temporal')) + (await dump('temporal_visibility'));
}

async function searchImages({ images, secrets }: Stack, { check }: Findings): Promise<void> {
  const ofSandbox = new Map([['the client secret of the sandbox', sandboxCredentials.partner.clientSecret]]);
  const product = await valuesInImage(images.product, new Map([...secrets, ...ofSandbox]));
  check('no secret is in a layer of the image', product);
  const sandbox = await valuesInImage(images.sandbox, new Map([...secrets, ...ofSandbox]));
  const isRight = sandbox.join() === [...ofSandbox.keys()].join();
  check(
    'in the layers of the sandbox the search finds its own secret, and no other',
    isRight ? [] : [sandbox.join() || 'none'],
  );
}

/** All that a sandbox gave out and nobody may see, by name. */
async function issuedBy(sandbox: SandboxControl): Promise<Values> {
  const tokens = (await sandbox.issuedTokens()).map((token, i) => [`access token ${i + 1}`, token] as const);
  const all = (await sandbox.subscribers()).map(
    ({ secretId }, i) => [`secret of subscriber ${i + 1}`, secretId] as const,
  );
  return new Map([...tokens, ...all]);
}

/** Secrets in what Docker shows, in logs and in the database. */
async function searchRunning({ stack, rides, findings }: Scene, known: string): Promise<void> {
  const issued = await issuedBy(rides.sandbox);
  const all = new Map([...stack.secrets, ...issued]);
  const ids = [...(await stack.containers()).values()].map(({ Id }) => Id);
  const shown = await docker(['inspect', ...ids, ...Object.values(stack.images)]);
  findings.check('no secret is in what "docker inspect" shows', valuesIn(shown, all));
  findings.check('no secret is in a log', valuesIn(await stack.compose('logs', '--no-color'), all));
  const dump = await databases(stack);
  findings.check('no secret is in the database', valuesIn(dump, all));
  const control = valuesIn(dump, new Map([['reference', known]]));
  findings.check('without encryption the search finds a reference', control.length > 0 ? [] : ['it does not']);
}

async function main(): Promise<number> {
  const findings = openFindings(say);
  try {
    say(await findDocker());
    await run(await openStack(onEnd), findings);
  } catch (error) {
    if (isStopped()) throw error;
    if (error instanceof DockerMissing) {
      console.error(error.message);
      return 2;
    }
    findings.check('the test runs to its end', [error instanceof Error ? error.message : String(error)]);
    console.error(error);
  }
  console.log(findings.table());
  console.log(toText(findings.tally()));
  return isGood(findings.tally()) ? 0 : 1;
}

await new Command('containers')
  .description('Brings docker-compose.yml up on the Docker daemon it finds, breaks it, and judges what is left.')
  .addHelpText(
    'after',
    '\nTakes about four minutes, and a few more for a first build. One at a time for each daemon. Leaves its images behind, and nothing else.',
  )
  .action(() => exitWith(main))
  .parseAsync();
