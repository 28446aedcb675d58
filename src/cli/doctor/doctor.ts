import {
  type AddCommand,
  addCommand,
  type CommandContext,
  callTimeoutMs,
  type Session,
  withSession,
} from '../command.js';
import { exitCodes, toCliError } from '../failure.js';
import { type Paint, plain } from '../text.js';
import {
  type Check,
  checkAddresses,
  checkContract,
  checkIngress,
  checkNode,
  checkSearchAttributes,
  checkSettings,
  checkStore,
  checkTokens,
  checkWatches,
  checkWorkerConnection,
  checkWorkers,
  type Examined,
  skipped,
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
With --contract it uses this contract profile in place of the one in force, and
names the fields that differ. It then gets no token: the fleet's tokens are of
the profile in force, and probe asks the service for those of another.`;

/** `doctor`: what is wrong with the installation, with the remedy. */
export const addDoctor: AddCommand = (program, run) => {
  const does = 'check settings, Temporal, workers, tokens and addresses';
  addCommand(program, 'doctor', { does, examples: ['', '--contract profile.json'], more: help })
    .option('--contract <file>', 'contract profile to test before it is in force')
    .action(run(diagnose));
};

/** In the order of their lines. */
const checksAtTemporal: readonly ((session: Session, examined: Examined) => Promise<Check[]>)[] = [
  checkWorkerConnection,
  checkSearchAttributes,
  checkWorkers,
  checkWatches,
  checkTokens,
];
const otherChecks: readonly ((examined: Examined) => Promise<Check[]>)[] = [checkAddresses, checkStore, checkIngress];

async function diagnose(inForce: CommandContext, { contract }: { contract?: string }): Promise<number> {
  const isTrial = contract !== undefined;
  const context = isTrial ? withContract(inForce, contract) : inForce;
  const checks: Check[] = [];
  const report = (found: readonly Check[]): void => {
    for (const { message, ...one } of found) {
      const check = { ...one, message: context.inTheirWords(message) };
      checks.push(check);
      if (!context.isJson) context.tell(check, checkLine(check, context.paint));
    }
  };
  const { checks: ofSettings, ...settings } = checkSettings(context);
  const examined = { ...settings, isTrial };
  report([checkNode(), ...ofSettings, ...(isTrial ? checkContract(inForce, context) : [])]);
  if (examined.config === null) report([skipped('Temporal', 'correct the settings first')]);
  else await examineTemporal(context, examined, report);
  for (const check of otherChecks) report(await check(examined));
  const isWell = checks.every(({ result }) => result !== 'failed');
  if (context.isJson) context.tell({ isWell, checks }, '');
  return isWell ? exitCodes.done : exitCodes.failed;
}

async function examineTemporal(
  context: CommandContext,
  examined: Examined,
  report: (found: readonly Check[]) => void,
): Promise<void> {
  let isConnected = false;
  try {
    await withSession(context, async (session) => {
      // The first call that names the namespace, so it fails for an unknown one.
      await session.within(callTimeoutMs, () => session.client.workflow.count("WorkflowType = 'followOrder'"));
      isConnected = true;
      report([{ name: 'Temporal', result: 'ok', message: `${session.address}, namespace ${session.namespace}` }]);
      for (const check of checksAtTemporal) report(await check(session, examined));
    });
  } catch (error) {
    if (isConnected) throw error;
    report([
      { name: 'Temporal', result: 'failed', message: toCliError(error).message },
      skipped('workers, tokens', 'repair the connection to Temporal first'),
    ]);
  }
}

const words = { ok: 'ok  ', warned: 'warn', failed: 'FAIL', skipped: 'skip' } as const;
const tones = { ok: 'good', warned: 'bad', failed: 'bad', skipped: 'faint' } as const;

/** One check as one line. */
const checkLine = ({ name, result, message }: Check, paint: Paint): string =>
  `${paint(tones[result], words[result])}  ${plain(name).padEnd(22)}  ${plain(message)}`;
