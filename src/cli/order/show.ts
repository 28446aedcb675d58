import type { Command } from 'commander';
import type { FollowOrderKey } from '../../domain/workflow-ids.js';
import { type OrderArguments, type RunCommand, withOrderArguments, withSession } from '../command.js';
import { exitCodes } from '../failure.js';
import { type Paint, pairsText, plain, utc } from '../text.js';
import { getOrderRun, type OrderRun, type RunOutline, readTrail } from './run.js';
import { trailText } from './view.js';

/** `show <account> <orderId>`: the trail of an order, open or ended. */
export function addShowCommand(program: Command, run: RunCommand): void {
  withOrderArguments(program.command('show'))
    .description('show the trail of an order, with or without a worker')
    .addHelpText('after', '\nExample:\n  faretrail show partner 42')
    .action(
      run<OrderArguments>(async (context, [account, orderId]) => {
        const key = { account, orderId };
        return await withSession(context, async (session) => {
          const shown = await readTrail(session, key, await getOrderRun(session, key));
          context.tell(toRunJson(shown), runText(shown, key, context.paint));
          return exitCodes.done;
        });
      }),
    );
}

/** What a program is told of a run. */
export function toRunJson({ version: _version, isOpen: _isOpen, ...run }: OrderRun): Record<string, unknown> {
  return run;
}

/** The trail; without one, what Temporal itself knows, and why there is no more. */
export function runText(run: OrderRun, key: FollowOrderKey, paint: Paint): string {
  if (run.trail) return `${trailText(run.trail, paint)}\n\n${paint('faint', runLine(run))}`;
  const { status, seenBy, attention } = run.known;
  const pairs: [string, string][] = [
    ['status', status === null ? 'not read yet' : `${paint('strong', plain(status))} (seen by a ${seenBy ?? 'read'})`],
    ['attention', attention === null ? 'none' : paint('bad', plain(attention))],
    ['run', runLine(run)],
  ];
  const head = paint('strong', `Order ${plain(key.orderId)} of account ${key.account}`);
  return [head, pairsText(pairs, paint), '', paint('bad', whyNoTrail(run))].join('\n');
}

function whyNoTrail({ failure, isOpen }: OrderRun): string {
  if (failure) return `${failure.code}: ${plain(failure.message)}`;
  return isOpen
    ? 'No worker answered, so this is what Temporal itself knows. For the timeline start one: npm run worker'
    : 'The run left no trail.';
}

/** "running since ...", "completed at ...". */
function runLine({ state, isOpen, startedAt, endedAt, workflowId }: RunOutline): string {
  const when = isOpen ? `since ${utc(startedAt)} UTC` : `at ${endedAt === null ? '?' : utc(endedAt)} UTC`;
  return `${plain(workflowId)}: ${state} ${when}`;
}
