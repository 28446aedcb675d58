import type { Command } from 'commander';
import type { OrderTrail } from '../domain/trail.js';
import type { FollowOrderKey } from '../domain/workflow-ids.js';
import { RunFailed } from './cli-failure.js';
import { type CommandContext, type RunCommand, type Session, withSession } from './command-context.js';
import { changesBetween, type OrderWatchChange } from './order-changes.js';
import { type OrderArguments, withOrderArguments } from './order-command.js';
import { looksAt } from './order-looks.js';
import type { Paint } from './paint.js';
import { plain } from './plain-text.js';
import { attentionLine, timelineLine } from './trail-view.js';
import { untilInterrupted } from './watching.js';

const help = `
Ends with 0 when the order has ended, with 1 when the run failed. Ctrl-C ends the watching, not
the following (exit code 130).

Examples:
  faretrail watch partner 42
  faretrail watch partner 42 --json | jq -r 'select(.change == "status") | .status'`;

/** `watch <account> <orderId>`: each change as it comes, until the end. */
export function addWatchCommand(program: Command, run: RunCommand): void {
  withOrderArguments(program.command('watch'))
    .description('print each change of an order until it ends')
    .addHelpText('after', help)
    .action(
      run<OrderArguments>((context, [account, orderId]) =>
        withSession(context, (session) => watchOrder(context, session, { account, orderId })),
      ),
    );
}

/** Prints each change until the run ends, and gives the exit code. Throws `RunFailed`. */
export const watchOrder = (context: CommandContext, session: Session, key: FollowOrderKey): Promise<number> =>
  untilInterrupted(context, session, 'No longer watched; the order is still followed.', (signal) =>
    printChanges(context, session, key, signal),
  );

const troubles = {
  noWorker: 'no worker answers, so nothing can be shown until one runs: npm run worker',
  noTemporal: 'Temporal cannot be reached; trying on',
};

async function printChanges(
  context: CommandContext,
  session: Session,
  key: FollowOrderKey,
  signal: AbortSignal,
): Promise<void> {
  let seen: OrderTrail | null = null;
  let said: string | undefined;
  for await (const look of looksAt(session, key, { signal })) {
    if ('trouble' in look) {
      if (said !== look.trouble) context.note(context.paint('bad', troubles[look.trouble]));
      said = look.trouble;
      continue;
    }
    said = undefined;
    const { run } = look;
    if (run.failure) throw new RunFailed(run.failure);
    for (const change of changesBetween(seen, run)) context.tell(change, changeText(change, context.paint));
    seen = run.trail ?? seen;
  }
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
