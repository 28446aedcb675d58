import type { Command } from 'commander';
import { exitCodes, toCliError } from './cli-failure.js';
import { type CommandContext, callTimeoutMs, type RunCommand, type Session, withSession } from './command-context.js';
import { withProgramName } from './command-line.js';
import {
  type Check,
  checkAddresses,
  checkSearchAttributes,
  checkSettings,
  checkWorkerConnection,
  checkWorkers,
  type SettingsCheck,
} from './doctor-checks.js';
import { checkIngress } from './doctor-ingress.js';
import { checkTokens } from './doctor-tokens.js';
import type { Paint } from './paint.js';
import { plain } from './plain-text.js';

const help = `
Checks the settings, Temporal, the search attributes, the workers, a token for each account, the
addresses of the accounts, and the ingress where its keys are set. Changes nothing, but gets tokens
as a worker does. Ends with 1 when a check failed; a line marked "skip" could not be checked from
here. Over TLS it connects to Temporal twice: as commands do, and as a worker does.

Example:
  faretrail doctor`;

/** `doctor`: what is wrong with the installation, and the remedy. */
export function addDoctorCommand(program: Command, run: RunCommand): void {
  program
    .command('doctor')
    .description('check settings, Temporal, workers, tokens, addresses')
    .addHelpText('after', help)
    .action(
      run(async (context) => {
        const checks: Check[] = [];
        await examine(context, ({ message, ...found }) => {
          const check = { ...found, message: withProgramName(message, context.env) };
          checks.push(check);
          if (!context.isJson) context.tell(check, checkLine(check, context.paint));
        });
        const isWell = checks.every(({ result }) => result !== 'failed');
        if (context.isJson) context.tell({ isWell, checks }, '');
        return isWell ? exitCodes.done : exitCodes.failed;
      }),
    );
}

type Report = (check: Check) => void;

async function examine(context: CommandContext, report: Report): Promise<void> {
  const settings = checkSettings(context);
  settings.checks.forEach(report);
  if (settings.accountNames === null) skip(report, 'Temporal', 'correct the settings first');
  else await examineTemporal(context, settings, report);
  (await checkAddresses(settings.accounts)).forEach(report);
  if (settings.accountNames !== null) (await checkIngress(context.loadSettings())).forEach(report);
}

async function examineTemporal(context: CommandContext, settings: SettingsCheck, report: Report): Promise<void> {
  let isConnected = false;
  try {
    await withSession(context, async (session) => {
      // The first call that names the namespace.
      await session.within(callTimeoutMs, () => session.client.workflow.count("WorkflowType = 'followOrder'"));
      isConnected = true;
      report({ name: 'Temporal', result: 'ok', message: `${session.address}, namespace ${session.namespace}` });
      (await checkWorkerConnection(context)).forEach(report);
      report(await checkSearchAttributes(session));
      const workers = await checkWorkers(session, settings.accountNames ?? []);
      workers.forEach(report);
      if (workers[0]?.result === 'ok') await examineTokens(session, settings, report);
      else skip(report, 'tokens', 'a worker has to request them');
    });
  } catch (error) {
    if (isConnected) throw error;
    report({ name: 'Temporal', result: 'failed', message: toCliError(error).message });
    skip(report, 'workers, tokens', 'Temporal comes first');
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

const words = { ok: 'ok  ', failed: 'FAIL', skipped: 'skip' } as const;
const tones = { ok: 'good', failed: 'bad', skipped: 'faint' } as const;

/** One check as one line. */
const checkLine = ({ name, result, message }: Check, paint: Paint): string =>
  `${paint(tones[result], words[result])}  ${plain(name).padEnd(22)}  ${plain(message)}`;
