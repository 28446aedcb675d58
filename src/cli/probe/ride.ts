import { randomUUID } from 'node:crypto';
import { parseCallBody } from '../../contracts/call-bodies.js';
import type { Account } from '../../domain/account.js';
import { InvalidInput } from '../../domain/errors.js';
import type { OrderId } from '../../domain/keys.js';
import { readJsonInput } from '../arguments.js';
import type { CommandContext } from '../command.js';
import { plain, toJsonLine } from '../text.js';
import type { Finding, Talk } from './asking.js';
import { neededOperations, type TrialEnd, tryRide } from './trial.js';

/** The options about the ride that a probe orders. */
export interface RideGiven {
  ride?: string;
  reallyOrder?: true;
  yes?: true;
}

/** What became of the ride; `orders` are those that stand as far as anybody knows, with the command that cancels each. */
export interface RideReport {
  /** What the command would do; absent where it did so. */
  plan?: string;
  requestId: string;
  isOrdered: boolean;
  isStopped: boolean;
  mayHaveMore: boolean;
  standing: { orderId: OrderId; cancelWith: string }[];
  failure?: unknown;
}

/** Reads the body to order. Throws `InvalidInput`. */
export function readRide({ ride, reallyOrder, yes }: RideGiven, account: Account, talk: Talk): unknown {
  if (ride === undefined && (reallyOrder || yes)) throw new InvalidInput('--really-order, --yes: only with --ride');
  if (ride === undefined) return undefined;
  if (account.interface !== 'business') throw new InvalidInput('--ride: only an account of the business interface');
  for (const name of neededOperations)
    if (talk.profile.operations[name].enabled === false)
      throw new InvalidInput(`operations.${name}.enabled: without it no ride is ordered that can be cancelled`);
  return parseCallBody('createOrder', readJsonInput(ride, '--ride'));
}

const untilCancelledMs = 60_000;

/** Orders the ride and cancels it; without --really-order says what it would do. */
export async function probeRide(
  context: CommandContext,
  { talk, body, given, tell }: { talk: Talk; body: unknown; given: RideGiven; tell(finding: Finding): void },
): Promise<RideReport> {
  const requestId = randomUUID();
  const report: RideReport = { requestId, isOrdered: false, isStopped: false, mayHaveMore: false, standing: [] };
  if (!given.reallyOrder) return { ...report, plan: planText(talk) };
  await confirm(context, talk.account.name, given);
  // With --json the result comes at the end; a person has to find the order also where the process is killed before.
  const announce = (json: object, text: string): void =>
    context.isJson ? void context.stderr.write(`${toJsonLine(json)}\n`) : context.tell(json, `${text}\n`);
  announce({ requestId }, `Request id of the ride: ${requestId}`);
  const made: OrderId[] = [];
  const undo = context.onInterrupt(() => {
    report.isStopped = true;
    const orders = made.length === 0 ? 'what has been ordered' : made.map(plain).join(' and ');
    context.stderr.write(`Ending: ${orders} will be cancelled. Another Ctrl-C leaves it as it is.\n`);
  });
  try {
    const end = await tryRide({
      ...{ talk, body, requestId, tell, patienceMs: untilCancelledMs },
      tellOrder(orderId) {
        made.push(orderId);
        announce({ orderId }, `\nOrdered: ${plain(orderId)}, to be cancelled`);
      },
      isStopped: () => report.isStopped,
    });
    return { ...report, ...endOf(context, talk, end), isOrdered: made.length > 0 };
  } finally {
    undo();
  }
}

function endOf(context: CommandContext, { account }: Talk, { standing, ...end }: TrialEnd) {
  const cancelWith = (orderId: OrderId): string =>
    context.commandLine('call', account.name, 'cancelOrder', '--order', orderId);
  return { ...end, standing: standing.map((orderId) => ({ orderId, cancelWith: cancelWith(orderId) })) };
}

function planText({ account, profile }: Talk): string {
  const { createOrder, cancelOrder } = profile.operations;
  const { requestIdHeader = '' } = createOrder;
  const again = requestIdHeader === '' ? '' : ', once more under the same request id, which must make no second order';
  return `Nothing is ordered. With --really-order this command orders a REAL ride for account ${account.name}:
it sends ${createOrder.method} ${createOrder.path}${again},
reads the order, sends ${cancelOrder.method} ${cancelOrder.path}, waits up to
${untilCancelledMs / 1_000} s until the order reads Cancelled, and reads the receipt. A fee may follow.
Choose a scheduled ride far ahead, and be ready to cancel it in the service's own portal: the path of the cancel may be wrong.`;
}

/** The person types the name of the account twice; a program gives --yes. */
async function confirm({ question }: CommandContext, name: string, { yes }: RideGiven): Promise<void> {
  if (yes) return;
  if (question === undefined) throw new InvalidInput('--yes: needed where no person can be asked at a terminal');
  for (const text of [`Type ${name} to order a REAL ride: `, 'Type it once more: '])
    if ((await question(text)).trim() !== name) throw new InvalidInput(`${name} was not typed; nothing is ordered`);
}

/** What a person has to do after the trial; empty for nothing. */
export function alarms({ requestId, mayHaveMore, standing }: RideReport): string[] {
  const unknown = `AN ORDER MAY EXIST whose id is not known. Look at the service (portal or support) for request id ${requestId}, or for the orders of the last minutes. It was not repeated after that.`;
  return [
    ...standing.map(
      ({ orderId, cancelWith }) =>
        `ORDER ${plain(orderId)} MAY STAND. Cancel it at the service, or, with a worker that has the right operations.cancelOrder: ${cancelWith}`,
    ),
    ...(mayHaveMore ? [unknown] : []),
  ];
}
