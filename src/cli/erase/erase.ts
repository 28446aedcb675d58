import { InvalidInput } from '../../domain/errors.js';
import { type FollowOrderKey, fromRequestRideId } from '../../domain/workflow-ids.js';
import type { Store } from '../../store/store.js';
import { type AddCommand, addCommand, inSession, type Session } from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { type Paint, plain, tableText } from '../text.js';
import { findRunsAbout, type RunAbout, removeRuns } from './runs.js';

const help = `
Removes from Temporal the runs of the order and of its report, the rides and
calls that name it, and its parked and late deliveries and notices. It cannot be
undone: the order may be followed anew, and a ride or a call whose run is gone
may be ordered again under the same id. It asks before it removes anything. It
reads all rides and calls of the account that Temporal keeps. Its list is about
a second behind the runs: repeat the command until it ends with 3.`;

interface Given extends FollowOrderKey {
  running?: boolean;
  yes?: boolean;
}

/** `erase <account> <orderId>`: removes what is kept about an order, in the store too. */
export const addErase: AddCommand = (program, run) => {
  const does = 'remove what Temporal keeps about an order and its persons';
  addCommand(program, 'erase <account> <orderId>', { does, examples: ['business 7b21'], more: help })
    .option('--running', 'also if the order, its ride or a call still runs: ends them')
    .option('--yes', 'do not ask')
    .action(run(inSession(erase)));
};

async function erase(session: Session, { account, orderId, running = false, yes = false }: Given): Promise<number> {
  const key = { account, orderId };
  const runs = await findRunsAbout(session, key);
  const inStore = await withStore(session, (store) => store.countRows(key));
  if (runs.length === 0 && !inStore) {
    const where = inStore === null ? 'Temporal keeps no run' : 'Temporal keeps no run, and the store no row,';
    throw new CliFailure('NothingKept', `${where} about order ${orderId} of account ${account}`);
  }
  const open = runs.filter(({ kind, isOpen }) => isOpen && ['order', 'ride', 'call'].includes(kind));
  if (open.length > 0 && !running) {
    const ids = open.map(({ workflowId }) => workflowId).join(', ');
    const remedy =
      'stop following or wait for the end, or add --running, which ends these runs and not the ride itself';
    throw new CliFailure('StillRunning', `nothing was removed: ${ids} still runs; ${remedy}`);
  }
  if (!yes) await ask(session, runs, inStore);
  if (runs.length > 0) session.note('Temporal removes them within a minute or two.');
  const left = await removeRuns(session, runs);
  const erased = runs.filter((run) => !left.includes(run));
  // After the runs, which may have recorded more until now.
  const storedRows = await withStore(session, (store) => store.erase(key));
  const store = storedRows === null ? {} : { storedRows };
  session.tell({ ...key, erased, left, ...store, stays }, erasedText({ erased, left, ...store }, session.paint));
  return left.length > 0 ? exitCodes.failed : exitCodes.done;
}

/** Null where the settings name no store. */
async function withStore<T>({ config }: Session, act: (store: Store) => Promise<T>): Promise<T | null> {
  if (typeof config.store !== 'object') return null;
  const { openStore } = await import('../../store/store.js'); // most commands need none
  const store = openStore(config.store.url);
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

async function ask(session: Session, runs: readonly RunAbout[], inStore: number | null): Promise<void> {
  if (!session.question || session.isJson) {
    throw new InvalidInput('--yes: needed, since nobody can be asked here; nothing was removed');
  }
  session.note([runsText(runs, session.paint), '', ...warningsOf(runs)].join('\n'));
  const rows = inStore ? ` and ${inStore} rows of the store` : '';
  const answer = await session.question(`Remove these ${runs.length} runs${rows} for good? [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new CliFailure('NotConfirmed', 'nothing was removed');
}

/** What the caller has to know before. */
function warningsOf(runs: readonly RunAbout[]): string[] {
  const isOnce = ({ kind }: RunAbout): boolean => kind === 'ride' || kind === 'call';
  const ids = [...new Set(runs.filter(isOnce).map(({ workflowId }) => plain(workflowId)))];
  if (ids.length === 0) return [];
  const rides = ids.some((id) => fromRequestRideId(id)) ? 'A ride requested again is a second ride. ' : '';
  return [`"Never twice" ends for ${ids.join(', ')}: the same id orders or calls again. ${rides}Do not repeat them.`];
}

const stays = [
  'Archives and backups of the database keep the runs for as long as you have set there.',
  'Receivers of notices, callers and logs keep what they have.',
  'A delivery that an ingress still has to forward, or that the service sends later, has the order followed anew.',
];

interface Removed {
  erased: readonly RunAbout[];
  left: readonly RunAbout[];
  storedRows?: number;
}

function erasedText({ erased, left, storedRows }: Removed, paint: Paint): string {
  const inStore = storedRows === undefined ? '' : ` Removed ${storedRows} rows of the store.`;
  return [
    `Removed ${erased.length} runs.${inStore}`,
    ...(erased.length > 0 ? [runsText(erased, paint)] : []),
    ...(left.length > 0 ? ['Temporal has not removed these yet; repeat the command:', runsText(left, paint)] : []),
    'What stays:',
    ...stays.map((line) => `- ${line}`),
  ].join('\n');
}

const runsText = (runs: readonly RunAbout[], paint: Paint): string =>
  tableText(
    ['what', 'run', 'state'],
    runs.map(({ kind, workflowId, state }) => [kind, plain(workflowId), state]),
    paint,
  );
