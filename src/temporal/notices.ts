import { instantIn } from '../clock.js';
import type { AccountName } from '../domain/keys.js';
import { type MissedNotice, missedStatus } from '../domain/notify/notices.js';
import { publishedMissed } from '../domain/published.js';
import { quote } from '../domain/search-attribute-names.js';
import { resendRequestedSignal } from '../workflows/messages.js';
import { runOf } from './runs.js';
import { allOf, attributeOf, type Found, type Looking, listRuns, runsQuery } from './visibility.js';

/** Which of the missed notices are meant. */
export interface MissedFilter {
  noticeId?: string | undefined;
  account?: AccountName | undefined;
  since?: number | undefined;
  receiver?: string | undefined;
}

/** A notice that its receiver missed. */
export interface Missed extends MissedNotice {
  id: string;
  account: string | null;
  workflowId: string;
}

/** Receiver and time are in the memos of runs, which no server can search. */
export const mostRuns = 10_000;
const withinMs = 10_000;

/** The id of a notice is that of its run, and its number there. */
const idOf = (workflowId: string, number: number): string => `${workflowId.replace(/^notices\//, '')}/${number}`;
const runIdIn = (noticeId: string): string => `notices/${noticeId.replace(/\/[^/]*$/, '')}`;

/** The missed notices that are meant, the oldest first. */
export async function findMissed(
  looking: Looking,
  { noticeId, account, since, receiver }: MissedFilter,
): Promise<Found<Missed>> {
  const from = since === undefined ? 0 : instantIn(-since);
  const query = allOf(
    runsQuery('notices', { account, status: missedStatus, running: true }),
    noticeId && `WorkflowId = ${quote(runIdIn(noticeId))}`,
  );
  const { rows, hasMore } = await listRuns(looking, query, mostRuns, (info) => {
    const { workflowId } = info;
    const run = { workflowId, account: attributeOf(info, 'account') ?? null };
    return publishedMissed(info.memo).map((one) => ({ id: idOf(workflowId, one.number), ...run, ...one }));
  });
  const isMeant = ({ id, to, missedAt }: Missed) =>
    (noticeId ?? id) === id && (receiver ?? to) === to && Date.parse(missedAt) >= from;
  return { rows: rows.filter(isMeant).sort((a, b) => a.missedAt.localeCompare(b.missedAt)), hasMore };
}

/** Has a missed notice sent again. False: the run that kept it has ended. */
export const resendOne = (
  { client }: Pick<Looking, 'client'>,
  { workflowId, number, missedAt }: Pick<Missed, 'workflowId' | 'number' | 'missedAt'>,
): Promise<boolean> => runOf(client, workflowId).signal(resendRequestedSignal, { number, missedAt }, { withinMs });
