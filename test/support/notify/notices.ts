import { randomUUID } from 'node:crypto';
import { noticesSince } from '../../../src/domain/notify/notices.js';
import { noticesId } from '../../../src/domain/workflow-ids.js';
import { noticeGivenSignal } from '../../../src/workflows/messages.js';
import type { NoticesLimits, notices } from '../../../src/workflows/notify/notices.js';
import type { OrderStack } from '../order/stack.js';

/** The run that sends what another one tells one of its receivers. */
export const noticesOf = (
  { client }: Pick<OrderStack, 'client'>,
  { workflowId: about, firstExecutionRunId: firstRunId }: { workflowId: string; firstExecutionRunId: string },
  receiver = '0',
) => client.workflow.getHandle<typeof notices>(noticesId({ about, firstRunId, receiver }));

/** Starts a run that sends `count` notices to a URL. It is told that the last one is the last, unless it shall go quiet. */
export async function startNotices(
  { client, config }: OrderStack,
  url: string,
  count: number,
  limits: Partial<NoticesLimits> = {},
) {
  const at = new Date().toISOString();
  const notice = (number: number) => ({
    ...{ number, at, type: 'order.changed', data: { rawStatus: String(number) }, to: url },
    isLast: number === count && limits.quietMs === undefined,
  });
  const handle = await client.workflow.start<typeof notices>('notices', {
    workflowId: noticesId({ about: 'order/business/4711', firstRunId: randomUUID(), receiver: '0' }),
    taskQueue: config.taskQueue,
    args: [noticesSince(notice(1), count), { limits }],
  });
  for (let number = 2; number <= count; number += 1) await handle.signal(noticeGivenSignal, notice(number));
  return handle;
}
