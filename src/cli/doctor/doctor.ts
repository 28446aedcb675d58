import { createTokenSource, TokenUnavailable } from '../../activities/token-source.js';
import { interfaceTerms } from '../../contracts/interface-terms.js';
import type { Account } from '../../domain/account.js';
import type { SealedToken } from '../../domain/token/lease.js';
import { operationScope } from '../../ride-api/operation-request.js';
import type { KeyRing } from '../../sealing/key-ring.js';
import { createSealer, SealingError } from '../../sealing/sealer.js';
import { createTokenLeases } from '../../temporal/token-leases.js';
import {
  type AddCommand,
  addCommand,
  type CommandContext,
  callTimeoutMs,
  type Session,
  withSession,
} from '../command.js';
import { exitCodes, toCliError } from '../failure.js';
import { ingressUrl, judgeIngress } from '../ingress-reachability.js';
import { type Paint, plain } from '../text.js';
import {
  type Check,
  checkAddresses,
  checkContract,
  checkNode,
  checkScopes,
  checkSearchAttributes,
  checkSettings,
  checkStore,
  checkWatches,
  checkWorkerConnection,
  checkWorkers,
  type SettingsCheck,
  withContract,
} from './checks.js';

const help = `
Checks Node, settings, Temporal, search attributes, workers, which of them polls
the orders of each account and how late, a token for each account, the addresses
of the accounts, the store where one is set, and the ingress where its keys are
set. It changes nothing, except that it gets tokens and makes the tables of the
store as a worker does. Ends with 1 when a check failed; a line marked "skip"
could not be checked from here. Over TLS it connects to Temporal twice: as
commands do, and as a worker does.
With --contract it uses this contract profile in place of the one in force. It
then requests one token for each scope that the profile names directly from the
service, past the fleet's leases, uses none of them and keeps none.`;

/** `doctor`: what is wrong with the installation, with the remedy. */
export const addDoctor: AddCommand = (program, run) => {
  const does = 'check settings, Temporal, workers, tokens and addresses';
  addCommand(program, 'doctor', { does, examples: ['', '--contract profile.json'], more: help })
    .option('--contract <file>', 'contract profile to test before it is in force')
    .action(run(diagnose));
};

async function diagnose(around: CommandContext, { contract }: { contract?: string }): Promise<number> {
  const context = contract === undefined ? around : withContract(around, contract);
  const aboutProfile = contract === undefined ? null : checkContract(around, context);
  const checks: Check[] = [];
  await examine({ context, aboutProfile }, ({ message, ...found }) => {
    const check = { ...found, message: context.inTheirWords(message) };
    checks.push(check);
    if (!context.isJson) context.tell(check, checkLine(check, context.paint));
  });
  const isWell = checks.every(({ result }) => result !== 'failed');
  if (context.isJson) context.tell({ isWell, checks }, '');
  return isWell ? exitCodes.done : exitCodes.failed;
}

type Report = (check: Check) => void;

interface Examined {
  context: CommandContext;
  /** What the doctor says of a profile that is not in force; null: it examines the installation as it is. */
  aboutProfile: readonly Check[] | null;
}

async function examine({ context, aboutProfile }: Examined, report: Report): Promise<void> {
  report(checkNode());
  const settings = checkSettings(context);
  [...settings.checks, ...(aboutProfile ?? [])].forEach(report);
  if (settings.accountNames === null) skip(report, 'Temporal', 'correct the settings first');
  else await examineTemporal({ context, aboutProfile }, settings, report);
  (await checkAddresses(settings.accounts)).forEach(report);
  if (settings.accountNames === null) return;
  const config = context.loadSettings();
  if (typeof config.store === 'object') report(await checkStore(config.store.url));
  if (aboutProfile) (await checkScopes(settings.accounts, config.profile)).forEach(report);
  if (!config.webhookKeys) return; // no ingress runs with these settings
  const url = ingressUrl(config);
  const message = 'FARETRAIL_INGRESS_PORT is 0, so the ingress may listen at any port; set FARETRAIL_PUBLIC_URL';
  report({ name: 'ingress', ...(url === null ? { result: 'skipped', message } : await judgeIngress(url)) });
}

async function examineTemporal(examined: Examined, settings: SettingsCheck, report: Report): Promise<void> {
  const { context, aboutProfile } = examined;
  let isConnected = false;
  try {
    await withSession(context, async (session) => {
      // The first call that names the namespace, so it fails for an unknown one.
      await session.within(callTimeoutMs, () => session.client.workflow.count("WorkflowType = 'followOrder'"));
      isConnected = true;
      report({ name: 'Temporal', result: 'ok', message: `${session.address}, namespace ${session.namespace}` });
      (await checkWorkerConnection(context)).forEach(report);
      report(await checkSearchAttributes(session));
      const workers = await checkWorkers(session, settings.accountNames ?? []);
      [...workers, ...(await checkWatches(session))].forEach(report);
      if (aboutProfile) return; // the fleet's tokens are of the profile in force
      if (workers[0]?.result === 'ok') await examineTokens(session, settings, report);
      else skip(report, 'tokens', 'only a worker requests them');
    });
  } catch (error) {
    if (isConnected) throw error;
    report({ name: 'Temporal', result: 'failed', message: toCliError(error).message });
    skip(report, 'workers, tokens', 'repair the connection to Temporal first');
  }
}

async function examineTokens(session: Session, { accounts }: SettingsCheck, report: Report): Promise<void> {
  const { sealingKeys } = session.config;
  if (accounts.length === 0) skip(report, 'tokens', 'no credentials are set here');
  else if (!sealingKeys) skip(report, 'tokens', 'FARETRAIL_SEALING_KEYS is not set here');
  else (await checkTokens(session, accounts, sealingKeys)).forEach(report);
}

function skip(report: Report, name: string, message: string): void {
  report({ name, result: 'skipped', message: `not checked: ${message}` });
}

const words = { ok: 'ok  ', warned: 'warn', failed: 'FAIL', skipped: 'skip' } as const;
const tones = { ok: 'good', warned: 'bad', failed: 'bad', skipped: 'faint' } as const;

/** One check as one line. */
const checkLine = ({ name, result, message }: Check, paint: Paint): string =>
  `${paint(tones[result], words[result])}  ${plain(name).padEnd(22)}  ${plain(message)}`;

/** Above the 10 s for which a token source waits. */
const tokenTimeoutMs = 20_000;

/** Gets a token for each account as a worker does, through the fleet's lease: a usable token is not requested again. */
async function checkTokens(session: Session, accounts: readonly Account[], sealingKeys: KeyRing): Promise<Check[]> {
  const { client, config } = session;
  const sealer = createSealer(sealingKeys);
  const leases = createTokenLeases(client, config.taskQueue);
  const credentialId = ({ clientId, clientSecret }: Account): string => sealer.keyedHash(clientId, clientSecret);
  const unseal = ({ sealed }: SealedToken, leaseId: string): Promise<string> => sealer.unseal(sealed, leaseId);
  const source = createTokenSource({ leases, unseal, credentialId });

  const checks = accounts.map(async (account): Promise<Check> => {
    const name = `token of ${account.name}`;
    const scope = operationScope(account, interfaceTerms[account.interface].readOperation, config.profile);
    const what = scope === '' ? 'without scope' : `for scope ${scope}`;
    try {
      const lease = await session.within(tokenTimeoutMs, async () => {
        await source.get(account, scope);
        return await leases.read({ account: account.name, scope, credentialId: credentialId(account) });
      });
      // The service may have rejected a token before its expiry, and then refused the renewal.
      if (lease?.failure) return { name, result: 'failed', message: `${what}: ${lease.failure.message}` };
      return { name, result: 'ok', message: `${what}, by the fleet's lease` };
    } catch (error) {
      return { name, result: 'failed', message: `${what}: ${whyNoToken(error)}` };
    }
  });
  return await Promise.all(checks);
}

function whyNoToken(error: unknown): string {
  if (error instanceof TokenUnavailable && error.code === 'upstreamUnavailable') {
    return `${error.message} Check that a worker with the same credentials and sealing keys runs, and see: faretrail token list`;
  }
  if (error instanceof SealingError) return `${error.message} (FARETRAIL_SEALING_KEYS must be those of the workers)`;
  return toCliError(error).message;
}
