import { wallMs } from '../clock.js';
import type { CliConfig, ConfigError } from '../config.js';
import { FaretrailError } from '../domain/errors.js';
import { isLoopbackAddress } from '../domain/web-address.js';
import { storeRemedy } from '../store/faults.js';
import { clockDifference, compareTemporalClock } from '../temporal/server-clock.js';
import { findWatch, type Health, judgeWorker } from '../temporal/watches.js';
import { inBrackets, option } from './arguments.js';
import { clockFault } from './clocks.js';
import { type CommandContext, type CommandSpec, type Session, withProgramName, withSession } from './command.js';
import { exitCodes, toCliError } from './failure.js';
import { paint, plain } from './text.js';

const help = `
Checks Node, settings, Temporal, workers, which of them polls the orders of each
account and how late, the store where one is set, and the ingress where its keys
are set; it compares the clocks of Temporal and the store with that of this
machine. It changes nothing, except that it makes the tables of the store as a
worker does; it writes a change there and takes it back. Ends with 1 when a
check failed; a line marked "skip" could not be checked from here. It asks the
service nothing: probe does.
With --contract it reads this contract profile in place of the one in force.`;

/** `doctor`: what is wrong with the installation, with the remedy. */
export const doctorCommand: CommandSpec = {
  form: 'doctor',
  does: 'check settings, Temporal, workers, store and ingress',
  examples: ['', '--contract profile.json'],
  more: help,
  options: [option('--contract <file>', 'contract profile to test before it is in force')],
  act: diagnose,
};

/** One line of the doctor. The message of a failed check ends with the remedy. */
export interface Check {
  name: string;
  result: 'ok' | 'warned' | 'failed' | 'skipped';
  message: string;
}

const words = { ok: 'ok  ', warned: 'warn', failed: 'FAIL', skipped: 'skip' } as const;
const tones = { ok: 'good', warned: 'bad', failed: 'bad', skipped: 'faint' } as const;

async function diagnose(context: CommandContext, { contract }: { contract?: string }): Promise<number> {
  const env = { ...context.env, ...(contract !== undefined && { FARETRAIL_CONTRACT_FILE: contract }) };
  const checks: Check[] = [];
  for await (const { name, result, message: said } of allChecks({ ...context, env })) {
    const message = withProgramName(said, env);
    checks.push({ name, result, message });
    context.say(`${paint(tones[result], words[result])}  ${plain(name).padEnd(22)}  ${plain(message)}`);
  }
  const isWell = checks.every(({ result }) => result !== 'failed');
  if (context.isJson) context.tell({ isWell, checks }, '');
  return isWell ? exitCodes.done : exitCodes.failed;
}

async function* allChecks(context: CommandContext): AsyncGenerator<Check> {
  yield checkNode();
  const { checks, config } = checkSettings(context);
  yield* checks;
  if (config === null) {
    yield skipped('Temporal', 'correct the settings first');
    return;
  }
  yield* await checkTemporal(context);
  if (typeof config.store === 'object') yield await checkStore(config.store.url);
  if (config.webhookKeys) yield await checkIngress(config); // no ingress runs without them
}

const skipped = (name: string, why: string): Check => ({ name, result: 'skipped', message: `not checked: ${why}` });

/** The lines of Node that get security releases, and until when (the release schedule of Node). */
const nodeLines: Readonly<Record<string, string>> = { 22: '2027-04-30', 24: '2028-04-30', 26: '2029-04-30' };
const newestKnownLine = Math.max(...Object.keys(nodeLines).map(Number));

/** Does this Node still get security releases? That is a warning alone: nothing fails because of it yet. */
export function checkNode(version = process.versions.node, now = wallMs()): Check {
  const name = 'Node';
  const [line = ''] = version.split('.');
  const until = nodeLines[line];
  if (Number(line) > newestKnownLine) return { name, result: 'ok', message: version };
  if (until !== undefined && now < Date.parse(until))
    return { name, result: 'ok', message: `${version}, with security releases until ${until}` };
  const message = `${version} gets no security releases any more; run a newer line, such as that of the image`;
  return { name, result: 'warned', message };
}

/** Reads the settings as a worker does, with the client secrets; if that fails, as the other commands do. */
function checkSettings({ env, ...context }: CommandContext): { checks: Check[]; config: CliConfig | null } {
  const name = 'settings';
  const config = loaded(() => context.loadSettingsWithSecrets(env));
  if ('problems' in config) {
    const checks = config.problems.map((message): Check => ({ name, result: 'failed', message }));
    const withoutSecrets = loaded(() => context.loadSettings(env));
    return { checks, config: 'problems' in withoutSecrets ? null : withoutSecrets };
  }
  const names = config.accounts.map((account) => account.name).join(', ');
  const way = config.proxy === null ? '' : `; the service is called through the proxy ${config.proxy.origin}`;
  const message = `${names === '' ? 'usable; no account is set here' : `usable; accounts: ${names}`}${way}`;
  return { checks: [{ name, result: 'ok', message }], config };
}

/** The settings, or why they cannot be used. */
function loaded<Settings>(load: () => Settings): Settings | Pick<ConfigError, 'problems'> {
  try {
    return load();
  } catch (error) {
    // The class itself belongs to the process files.
    if (error instanceof FaretrailError && error.code === 'ConfigError') return error as ConfigError;
    throw error;
  }
}

async function checkTemporal(context: CommandContext): Promise<Check[]> {
  const name = 'Temporal';
  try {
    return await withSession(context, async (session) => {
      const { address, client, namespace } = session;
      // The first call that names the namespace, so it fails for an unknown one.
      await session.inTime(() => client.workflow.count("WorkflowType = 'followOrder'"));
      const reached: Check = { name, result: 'ok', message: `${address}, namespace ${namespace}` };
      return [reached, await checkClock(session), ...(await checkWorkers(session)), ...(await checkWatches(session))];
    });
  } catch (error) {
    const failed: Check = { name, result: 'failed', message: toCliError(error).message };
    return [failed, skipped('workers', 'repair the connection to Temporal first')];
  }
}

/** Does Temporal's clock agree with that of this machine? What could not be compared is no fault. */
async function checkClock({ client }: Session): Promise<Check> {
  const name = 'clock';
  try {
    const fault = clockFault('Temporal', await compareTemporalClock(client));
    if (fault !== null) return { name, result: 'warned', message: fault };
    return { name, result: 'ok', message: 'that of Temporal agrees with that of this machine' };
  } catch (error) {
    return skipped(name, toCliError(error).message);
  }
}

/** Makes a check of what `act` finds; an error of `act` is a failed check. */
const checked = async (name: string, act: () => Promise<Omit<Check, 'name'>>): Promise<Check> => ({
  name,
  ...(await act().catch((error: unknown) => ({ result: 'failed' as const, message: toCliError(error).message }))),
});

/** Does a worker poll the main queue and the queue of each account? */
async function checkWorkers(session: Session): Promise<Check[]> {
  const ofAccounts = session.config.accounts.map(({ name }) =>
    checked(`worker for ${name}`, () => judgeWorker(session, name)),
  );
  return await Promise.all([checked('worker', () => judgeWorker(session)), ...ofAccounts]);
}

/** Beyond its fair share of the budget no order should be that late. */
const lateMs = 60_000;
const lateRemedy =
  'unless attention shows trouble of the account, its budget is used up: raise requestsPerSecond, or slow the polls (poll)';

/** Does a worker poll the live orders of each account, and in time? */
export async function checkWatches(session: Session): Promise<Check[]> {
  const checks = session.config.accounts.map(({ name, requestsPerSecond }) =>
    checked(`watch of ${name}`, async () => {
      const watch = await findWatch(session, name);
      if (typeof watch === 'string') return { result: 'failed', message: watch };
      if (watch === null) return { result: 'ok', message: 'no live order' };
      const { worker, pulse } = watch;
      // Encrypted for a reader without keys, or the worker has just taken it.
      if (pulse === null) return { result: 'ok', message: `polled by ${worker}` };
      const late = `${Math.round(pulse.lateMs / 1_000)} s late`;
      const message = `orders: ${pulse.orders}, polled by ${worker}, the latest ${late}`;
      const isLate = pulse.lateMs > lateMs + (pulse.orders / requestsPerSecond) * 1_000;
      return isLate ? { result: 'warned', message: `${message}; ${lateRemedy}` } : { result: 'ok', message };
    }),
  );
  return await Promise.all(checks);
}

const goOnAfter = 'changes come after the greatest one again, and readers miss none';

/** Can changes be recorded? Makes the tables where there are none, as a worker does. */
export async function checkStore(url: string): Promise<Check> {
  const { openStore } = await import('../store/store.js'); // most commands need none
  const store = openStore(url);
  const at = `PostgreSQL at ${new URL(url).host}`;
  try {
    const { said, isSafe, newer, behind } = await store.rehearse();
    const before = wallMs();
    const [shown] = await store.read<{ ms: string }>('select extract(epoch from clock_timestamp()) * 1000 as ms');
    const fault = clockFault('its server', clockDifference(Number(shown?.ms), before, wallMs()));
    const doubts = [
      ...(fault === null ? [] : [fault]),
      ...(isSafe || isLoopbackAddress(url) ? [] : ['only sslmode=verify-full keeps others from reading along']),
      ...(newer.length > 0
        ? [`its tables are of a newer release (${newer.join(', ')}), and take changes of this one`]
        : []),
      ...(behind.length > 0
        ? [`its positions had begun again, as they do in a logical replica (${behind.join(', ')}); ${goOnAfter}`]
        : []),
    ];
    const message = [`${at} takes changes, ${said}`, ...doubts].join('; ');
    return { name: 'store', result: doubts.length > 0 ? 'warned' : 'ok', message };
  } catch (error) {
    return { name: 'store', result: 'failed', message: `${at} does not take changes: ${whyNot(error)}` };
  } finally {
    await store.close();
  }
}

/** With the remedy. */
function whyNot(error: unknown): string {
  const { code = '', message, ...more } = error as { code?: string; message: string; lack?: string; remedy?: string };
  if (code === 'UnfitDatabase') return `${more.lack}; ${more.remedy}`;
  return `${`${plain(message)}${inBrackets(error)}`.trim()}; ${storeRemedy(error)}`;
}

/** Does the ingress take deliveries? */
async function checkIngress(config: CliConfig): Promise<Check> {
  const url = ingressUrl(config);
  const message = 'FARETRAIL_INGRESS_PORT is 0, so the ingress may listen at any port; set FARETRAIL_PUBLIC_URL';
  return { name: 'ingress', ...(url === null ? { result: 'skipped', message } : await judgeIngress(url)) };
}

const withinMs = 5_000;
const maxReason = 200;

/** The public URL of these settings, else the ingress on this machine: at the loopback address where it listens on all addresses. Null
 *  where port 0 lets the system choose the port. */
export function ingressUrl({ publicUrls, ingressHost, ingressPort }: CliConfig): string | null {
  const [publicUrl] = publicUrls;
  if (publicUrl !== undefined) return publicUrl;
  if (ingressPort === 0) return null;
  const everywhere: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const host = everywhere[ingressHost] ?? ingressHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${ingressPort}`;
}

/** Whether the ingress at `baseUrl` takes deliveries, as its `/readyz` says. `skipped`: something answers, but not with that page. Never
 *  throws. */
export async function judgeIngress(baseUrl: string): Promise<Health> {
  try {
    const answer = await fetch(`${baseUrl}/readyz`, { redirect: 'manual', signal: AbortSignal.timeout(withinMs) });
    const { status } = answer;
    const [line = ''] = (await answer.text()).slice(0, maxReason).split('\n');
    if (status === 200 && line === 'ready') return { result: 'ok', message: `${baseUrl} takes deliveries` };
    const why = plain(line) || 'HTTP 503';
    if (status === 503)
      return { result: 'failed', message: `the ingress at ${baseUrl} takes no deliveries now: ${why}` };
    const elsewhere = 'which is elsewhere where FARETRAIL_INGRESS_METRICS_PORT is set';
    return { result: 'skipped', message: `${baseUrl} answers, but not with /readyz (HTTP ${status}), ${elsewhere}` };
  } catch (error) {
    const { code } = ((error as Error).cause ?? error) as { code?: unknown }; // a number says nothing
    const remedy = 'start the ingress (npm run ingress), or correct FARETRAIL_PUBLIC_URL';
    return {
      result: 'failed',
      message: `no connection to ${baseUrl} (${typeof code === 'string' ? code : 'no answer'}); ${remedy}`,
    };
  }
}
