import type { FollowOrderKey } from '../domain/workflow-ids.js';
import type { OrderRun, RunOutline } from './order-run.js';
import type { Paint } from './paint.js';
import { plain, utc } from './plain-text.js';
import { pairsText } from './table.js';
import { trailText } from './trail-view.js';

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
