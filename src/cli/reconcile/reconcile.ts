import { pMapIterable } from 'p-map';
import { paced } from '../../client/faretrail-client.js';
import { FaretrailError } from '../../domain/errors.js';
import type { AccountName } from '../../domain/keys.js';
import {
  type FollowOrderKey,
  fromFollowOrderId,
  fromRequestRideId,
  type RequestRideKey,
} from '../../domain/workflow-ids.js';
import { accountOption, perSecondOption, sinceOption } from '../arguments.js';
import { type AddCommand, addCommand, createProgressNote, inSession, type Session } from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { type Paint, plain } from '../text.js';
import { eachRun, sinceQuery } from '../visibility.js';
import { accountQueue, hasWorker, mainQueue, noWorkerText } from '../workers-alive.js';
import { type Difference, type Done, type Finding, reconcileOrder, unread } from './order.js';
import { reconcileReceipt } from './receipt.js';

const help = `
Reads again each order that is followed, or whose following has ended since
then, and the receipts of rides that have. It names what differs. A run gets the
new status. An order that is no longer followed, and has not ended, is followed
again; one that a person stopped, with --again alone. All reads are within the
request budget of the account. It does not see orders that were never followed,
needs workers, and can be repeated. Ends with 1 if something could not be read,
or is left for a person to do.`;

/** `reconcile --since T`: after a time in which changes may have been missed. */
export const addReconcile: AddCommand = (program, run) => {
  const does = 'read orders again after an outage, and mend what differs';
  const examples = ['--since 24h', '--since 2026-05-01T08:30:00Z --account business --json'];
  addCommand(program, 'reconcile', { does, examples, more: help })
    .requiredOption(...sinceOption)
    .option(...accountOption)
    .option(...perSecondOption(10))
    .option('--again', 'follow orders again that a person stopped, too')
    .action(run(inSession(reconcile)));
};

interface Reconciling {
  since: string;
  account?: AccountName;
  perSecond: number;
  again?: boolean;
}

/** Few, so that a delivery waits behind few reads of this command. */
const atOnce = 8;

interface Report {
  /** `brokenOff`: by an error, which is told after the report. */
  state: 'done' | 'interrupted' | 'brokenOff';
  since: string;
  /** Orders and rides. */
  checked: number;
  differences: Difference[];
}

async function reconcile(session: Session, wanted: Reconciling): Promise<number> {
  const queue = mainQueue(session);
  if (!(await hasWorker(session, queue))) throw new CliFailure('NoWorker', `nothing was read: ${noWorkerText(queue)}`);
  const stop = new AbortController();
  const unlisten = session.onInterrupt(() => stop.abort());
  const report: Report = { state: 'brokenOff', since: wanted.since, checked: 0, differences: [] };
  try {
    await check(session, wanted, report, stop.signal);
    report.state = stop.signal.aborted ? 'interrupted' : 'done';
  } finally {
    unlisten();
    session.tell(report, reportText(report, session.paint));
  }
  if (report.state === 'interrupted') return exitCodes.interrupted;
  return report.differences.some(({ done }) => isFailure[done]) ? exitCodes.failed : exitCodes.done;
}

async function check(session: Session, wanted: Reconciling, report: Report, signal: AbortSignal): Promise<void> {
  const turn = paced(wanted.perSecond);
  const checkOne = createCheck(session, wanted.again ?? false);
  const noteSometimes = createProgressNote(session);
  const findings = pMapIterable(
    subjects(session, wanted, signal),
    async (subject) => {
      await turn();
      return await checkOne(subject);
    },
    { concurrency: atOnce },
  );
  for await (const finding of findings) {
    report.checked += 1;
    if (finding) report.differences.push(finding);
    noteSometimes(() => `${report.checked} checked, ${report.differences.length} differ`);
  }
}

type Subject = { order: FollowOrderKey } | { ride: RequestRideKey };

/** Each order once, however many runs it has, then each ride. */
async function* subjects(session: Session, wanted: Reconciling, signal: AbortSignal): AsyncGenerator<Subject> {
  const { taskQueue } = session.config;
  for (const type of ['followOrder', 'requestRide'] as const) {
    const seen = new Set<string>();
    for await (const { workflowId, status } of eachRun(session, sinceQuery(type, { ...wanted, taskQueue }), 100)) {
      if (signal.aborted) return;
      const order = fromFollowOrderId(workflowId);
      const ride = fromRequestRideId(workflowId);
      if (seen.has(workflowId)) continue;
      seen.add(workflowId);
      if (order) yield { order };
      if (ride && status.name === 'COMPLETED') yield { ride };
    }
  }
}

/** What could not be read is a finding; an error that is not about the order or ride ends the command. */
function createCheck(session: Session, again: boolean): (subject: Subject) => Promise<Finding> {
  const served = new Map<AccountName, Promise<boolean>>();
  return async (subject) => {
    const { account } = 'order' in subject ? subject.order : subject.ride;
    const about = 'order' in subject ? subject.order : { ...subject.ride, orderId: '-' };
    const queue = accountQueue(session, account);
    const isServed = served.get(account) ?? hasWorker(session, queue);
    served.set(account, isServed);
    if (!(await isServed)) return unread(about, '-', noWorkerText(queue));
    try {
      return await ('order' in subject
        ? reconcileOrder(session, subject.order, again)
        : reconcileReceipt(session, subject.ride));
    } catch (error) {
      if (!(error instanceof FaretrailError)) throw error;
      return unread(about, '-', `${error.code}: ${error.message}`);
    }
  };
}

const isFailure: Record<Done, boolean> = {
  refreshed: false,
  followedAgain: false,
  left: false,
  toDo: true,
  unread: true,
};

const doneTexts: Record<Done, string> = {
  refreshed: 'its run knows now',
  followedAgain: 'it is followed again',
  left: 'left: a person stopped it; follow it with',
  toDo: 'not mended',
  unread: 'not read',
};

const mostShown = 100;

function reportText({ state, since, checked, differences }: Report, paint: Paint): string {
  const failed = differences.filter(({ done }) => isFailure[done]).length;
  const mended = differences.filter(({ done }) => done === 'refreshed' || done === 'followedAgain').length;
  const head = `${checked} orders and rides since ${since}: ${differences.length} differ, ${mended} mended, ${failed} not.`;
  const lines = differences.slice(0, mostShown).map((one) => differenceText(one, paint));
  const more = differences.length > mostShown ? [`and ${differences.length - mostShown} more; --json lists all`] : [];
  const end = state === 'done' ? [] : ['Not all were reached. The same command begins again.'];
  return [paint(failed === 0 ? 'good' : 'bad', head), ...lines, ...more, ...end].join('\n');
}

function differenceText({ account, orderId, requestId, was, is, done, hint }: Difference, paint: Paint): string {
  const name = requestId === undefined ? `${account} ${orderId}` : `${account} ride ${requestId}, order ${orderId}`;
  const change = is === null ? `was ${was}` : `was ${was}, is ${is}`;
  const what = [doneTexts[done], ...(hint === undefined ? [] : [plain(hint)])].join(': ');
  return `${plain(name)}: ${plain(change)}; ${isFailure[done] ? paint('bad', what) : what}`;
}
