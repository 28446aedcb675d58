import type { TallyLine } from '../../contracts/delivery-tally.js';
import { parkReasonTexts } from '../../domain/delivery.js';
import { InvalidInput } from '../../domain/errors.js';
import type { AccountName } from '../../domain/keys.js';
import { publishedDelivery } from '../../domain/published.js';
import { fromParkedDeliveryId } from '../../domain/workflow-ids.js';
import { readDeliveryTally } from '../../webhooks/tally/file.js';
import { accountOption, checked, limitOption, sinceOption } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext, withSession } from '../command.js';
import { exitCodes } from '../failure.js';
import { clip, type Paint, plain, tableText, utc } from '../text.js';
import { listRuns, moreText, parkedSinceQuery } from '../visibility.js';

const help = `
The ingress counts refused and late deliveries by minute, without their bodies,
in a file beside the journal, for seven days: run the command where the ingress
runs, with its FARETRAIL_JOURNAL_DIR. The file is five seconds behind. Parked
deliveries, also decided ones, come from Temporal. Late: its order had ended.`;

const outcomes = ['refused', 'parked', 'late'] as const;
type Outcome = (typeof outcomes)[number];

/** `delivery list`: what no run got. */
export const addDeliveryList: AddCommand = (delivery, run) => {
  const does = 'list what was refused, parked or late';
  const examples = ['--since 24h', '--since 2026-05-01T08:30:00Z --outcome refused --json'];
  addCommand(delivery, 'list', { does, examples, more: help })
    .requiredOption(...sinceOption)
    .option('--outcome <outcome>', `only ${outcomes.join(', ')}`, checked(toOutcome))
    .option(...accountOption)
    .option(...limitOption)
    .action(run(list));
};

function toOutcome(text: string): Outcome {
  const outcome = outcomes.find((one) => one === text);
  if (!outcome) throw new InvalidInput(`--outcome: must be one of ${outcomes.join(', ')}`);
  return outcome;
}

interface Wanted {
  since: string;
  outcome?: Outcome;
  account?: AccountName;
  limit: number;
}

/** Deliveries with one fate. A parked one stands alone. */
interface Listed {
  outcome: Outcome;
  /** Empty: not at one of our addresses. */
  account: string;
  eventType: string | null;
  /** As the answer in the metric, or why it was parked; null: late, or no worker has handled it yet. */
  reason: string | null;
  from: string;
  to: string;
  count: number;
  orders: string[];
  /** Only of a parked one, and what became of it. */
  deliveryId?: string;
  fate?: string | null;
}

async function list(context: CommandContext, wanted: Wanted): Promise<number> {
  const { since, outcome, limit } = wanted;
  const warnings: string[] = [];
  const tallied = outcome === 'parked' ? [] : await tallyLines(context, wanted, warnings);
  const parked = outcome === undefined || outcome === 'parked' ? await parkedOnes(context, wanted) : noParked;
  const found = [...tallied, ...parked.deliveries].sort((one, other) => other.to.localeCompare(one.to));
  const deliveries = found.slice(0, limit);
  const hasMore = parked.hasMore || found.length > limit;
  context.tell({ since, deliveries, hasMore, warnings }, listText(deliveries, context.paint));
  context.warn(warnings);
  if (hasMore) context.note(moreText(limit));
  return exitCodes.done;
}

async function tallyLines(context: CommandContext, wanted: Wanted, warnings: string[]): Promise<Listed[]> {
  const { journalDir } = context.loadSettings();
  const lines = journalDir === null ? null : await readDeliveryTally(journalDir);
  if (lines === null) {
    const where = journalDir === null ? 'off, so the ingress keeps none' : 'no ingress has kept any in this folder';
    warnings.push(`refused and late deliveries are not listed: FARETRAIL_JOURNAL_DIR: ${where}`);
  }
  return (lines ?? [])
    .filter(({ account, to }) => to >= wanted.since && isOf(wanted.account, account))
    .flatMap((line) => {
      const listed = toListed(line);
      return wanted.outcome === undefined || listed.outcome === wanted.outcome ? [listed] : [];
    });
}

const isOf = (wanted: AccountName | undefined, account: string): boolean => wanted === undefined || wanted === account;

const toListed = ({ outcome, ...line }: TallyLine): Listed =>
  outcome === 'late' ? { ...line, outcome, reason: null } : { ...line, outcome: 'refused', reason: outcome };

const noParked = { deliveries: [] as Listed[], hasMore: false };

function parkedOnes(context: CommandContext, { since, account, limit }: Wanted): Promise<typeof noParked> {
  return withSession(context, async (session) => {
    const { found, hasMore } = await listRuns(session, parkedSinceQuery(since, account), limit);
    const deliveries = found.flatMap(({ workflowId, memo, startTime }): Listed[] => {
      const key = fromParkedDeliveryId(workflowId);
      if (!key) return []; // the id is not ours, so this run fails by itself
      const {
        eventType = null,
        reason = null,
        receivedAt,
        aboutOrderId,
        orderId,
        outcome,
      } = publishedDelivery(memo) ?? {};
      const at = receivedAt ?? startTime.toISOString();
      const about = orderId ?? aboutOrderId;
      const orders = about ? [about] : [];
      return [
        { outcome: 'parked', ...key, eventType, reason, from: at, to: at, count: 1, orders, fate: outcome ?? null },
      ];
    });
    return { deliveries, hasMore };
  });
}

function listText(deliveries: readonly Listed[], paint: Paint): string {
  if (deliveries.length === 0) return 'No delivery fits.';
  const head = ['last (UTC)', 'first (UTC)', 'account', 'event type', 'outcome', 'why', 'seen', 'orders', 'delivery'];
  const rows = deliveries.map(({ account, eventType, outcome, reason, from, to, count, orders, deliveryId, fate }) => [
    utc(to),
    utc(from),
    clip(account || '-', 16),
    clip(eventType || '-', 16),
    outcome === 'refused' ? paint('bad', outcome) : [outcome, fate ?? []].flat().join(': '),
    clip((reason && (parkReasonTexts as Record<string, string>)[reason]) ?? reason ?? '-', 40),
    String(count),
    orders.length === 0 ? '-' : orders.map(plain).join(' '),
    deliveryId ?? '-',
  ]);
  return tableText(head, rows, paint);
}
