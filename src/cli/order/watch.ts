import type { OrderTrail } from '../../client/index.js';
import type { FollowOrderKey } from '../../domain/workflow-ids.js';
import { type AddCommand, addCommand, inSession, type Session } from '../command.js';
import { RunFailed } from '../failure.js';
import { type Paint, plain } from '../text.js';
import { watchRun } from '../watching.js';
import { attentionLine, getOrderRun, readTrail, type TimelineEntry, timelineLine } from './show.js';

const help = `
Ends with 0 when the order has ended, with 1 when the run failed. Ctrl-C ends
the watching (exit code 130); the run goes on following the order.`;

/** `order watch <account> <orderId>`: each change as it comes, until the end. */
export const addWatch: AddCommand = (order, run) => {
  const does = 'print each change of an order until it ends';
  const examples = ['partner 42', `partner 42 --json | jq -r 'select(.change == "status") | .status'`];
  addCommand(order, 'watch <account> <orderId>', { does, examples, more: help }).action(run(inSession(watchOrder)));
};

/** Prints each change until the run ends, and gives the exit code. Throws `RunFailed`. */
export function watchOrder(session: Session, key: FollowOrderKey): Promise<number> {
  let seen: OrderTrail | null = null;
  return watchRun(session, {
    farewell: 'No longer watched; the order is still followed.',
    find: () => getOrderRun(session, key),
    async ask(found) {
      const run = await readTrail(session, key, found);
      return run.trail === null && found.isOpen ? null : run;
    },
    print(run) {
      if (run.failure) throw new RunFailed(run.failure.code, run.failure.message);
      for (const change of changesBetween(seen, { trail: run.trail, isOpen: run.found.isOpen }))
        session.tell(change, changeText(change, session.paint));
      seen = run.trail ?? seen;
    },
  });
}

/** One change as a line for people. */
export function changeText(change: OrderWatchChange, paint: Paint): string {
  switch (change.change) {
    case 'status':
      return timelineLine(change, paint);
    case 'attention':
      return attentionLine(change.attention, paint);
    case 'ended':
      return paint('strong', `ended: ${change.trail.outcome ?? plain(change.trail.status ?? 'without a status')}`);
  }
}

/** One change of a watched order, as `watch --json` prints it. */
type OrderWatchChange =
  | ({ change: 'status' } & TimelineEntry)
  | { change: 'attention'; attention: OrderTrail['attention'] }
  | { change: 'ended'; trail: OrderTrail };

/** What changed from one answer to the next; with the first answer, everything. */
export function changesBetween(
  before: OrderTrail | null,
  { trail, isOpen }: { trail: OrderTrail | null; isOpen: boolean },
): OrderWatchChange[] {
  if (trail === null) return [];
  const { attention } = trail;
  const isOther = attention?.code !== before?.attention?.code;
  return [
    ...newEntries(before?.timeline ?? [], trail.timeline).map((entry) => ({ change: 'status', ...entry }) as const),
    ...(isOther ? [{ change: 'attention', attention } as const] : []),
    ...(isOpen ? [] : [{ change: 'ended', trail } as const]),
  ];
}

/** A timeline grows at its end; a long one loses entries at its start. */
function newEntries(before: readonly TimelineEntry[], now: readonly TimelineEntry[]): readonly TimelineEntry[] {
  const last = before.at(-1);
  if (last === undefined) return now;
  const known = now.findLastIndex(({ at, rawStatus, source }) => {
    return at === last.at && rawStatus === last.rawStatus && source === last.source;
  });
  return now.slice(known + 1);
}
