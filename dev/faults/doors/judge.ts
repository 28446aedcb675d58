import { setTimeout as sleep } from 'node:timers/promises';
import { createFaretrailClient } from '../../../src/client/index.js';
import { findLeaks } from '../chaos/leaks.js';
import type { Verdict } from '../chaos/verdict.js';
import type { ActorName } from './actor.js';
import type { Receivers } from './actors/receiver.js';
import type { Stage } from './stage.js';
import type { Tale } from './tally.js';
import type { Served } from './watch.js';

/** What happened at the doors. */
export interface Evidence {
  stage: Stage;
  isSigned: boolean;
  /** The statuses that each followed order has had at the service. */
  orders: ReadonlyMap<string, ReadonlySet<string>>;
  /** Texts that only a viewer with `personal` may read. */
  personal: Record<string, string>;
  receivers: Receivers;
  tales: Record<ActorName, Tale>;
  before: Served;
  during: Served;
  sizesBefore: ReturnType<Stage['sizes']>;
  /** Orders of an account whose notices go to the honest receiver. */
  told: readonly string[];
  victim: string;
}

const oldestReadAtMost = 1.3;
const silenceAtMostMs = 250;
const takenWithinMs = 10_000;
/** The longest pause of the service between two attempts, and a little more. */
const repeatedWithinMs = 25_000;
const megabyte = 1_048_576;
/** What one address may leave behind: 2,000 parked deliveries of some 32 kB, and what their runs and all others write besides. */
const growthAtMost = { temporal: 96 * megabyte, journal: 32 * megabyte };

/** Holds what happened against the promises. Begins right after the last try. */
export async function judge(evidence: Evidence): Promise<Verdict> {
  const deliveries = await judgeDeliveries(evidence); // first, since it counts seconds
  const parts = [
    deliveries,
    judgeService(evidence),
    judgeSizes(evidence),
    judgeTexts(evidence),
    await judgeRuns(evidence),
    judgeReceivers(evidence),
    judgeProcesses(evidence),
  ];
  return {
    problems: parts.flatMap(({ problems }) => problems),
    figures: Object.assign({}, ...parts.map(({ figures }) => figures)),
  };
}

/**
 * Is a new delivery of the service taken at once, and are those taken that it still repeats? Signed ones are never refused. Where the
 * address is the only proof, the service may have given up some meanwhile, and polls find what they announced.
 */
async function judgeDeliveries({ stage: { sandbox }, orders, isSigned }: Evidence): Promise<Verdict> {
  const { delivered: before } = await sandbox.deliveryCounts();
  const [orderId = ''] = orders.keys();
  const isTaken = async (): Promise<boolean> => {
    await sandbox.deliver({ orderIds: [orderId], count: 1 });
    return (await sandbox.deliveryCounts()).delivered > before;
  };
  const isTakenInTime = await untilTrue(isTaken, takenWithinMs);
  await untilTrue(async () => (await sandbox.deliveryCounts()).retrying === 0, repeatedWithinMs);
  const { delivered, retrying, givenUp, byAnswer } = await sandbox.deliveryCounts();
  const refused = (byAnswer['429'] ?? 0) + (byAnswer['503'] ?? 0);
  return {
    problems: [
      ...(isTakenInTime ? [] : [`no genuine delivery was taken within ${takenWithinMs / 1_000} s of the end`]),
      ...(retrying > 0 ? [`${retrying} genuine deliveries were still not taken when they were repeated`] : []),
      ...(isSigned && refused > 0 ? [`signed deliveries were refused ${refused} times`] : []),
    ],
    figures: { genuineDeliveries: delivered, genuineAttemptsRefused: refused, genuineGivenUp: givenUp },
  };
}

async function untilTrue(isSo: () => Promise<boolean>, withinMs: number): Promise<boolean> {
  for (const until = Date.now() + withinMs; Date.now() < until; await sleep(200)) if (await isSo()) return true;
  return false;
}

function judgeService({ before, during }: Evidence): Verdict {
  const ratio = during.oldestReadMs / before.oldestReadMs;
  return {
    problems: [
      ...(ratio > oldestReadAtMost
        ? [`the oldest read was ${ratio.toFixed(2)} times as old as without the actors`]
        : []),
      ...(during.silenceMs > silenceAtMostMs ? [`the ingress was silent for ${during.silenceMs} ms`] : []),
    ],
    figures: {
      oldestReadMsBefore: before.oldestReadMs,
      oldestReadMs: during.oldestReadMs,
      silenceMsBefore: before.silenceMs,
      silenceMs: during.silenceMs,
    },
  };
}

function judgeSizes({ stage, sizesBefore }: Evidence): Verdict {
  const sizes = stage.sizes();
  const grown = { temporal: sizes.temporal - sizesBefore.temporal, journal: sizes.journal - sizesBefore.journal };
  const parts = ['temporal', 'journal'] as const;
  return {
    problems: parts.flatMap((part) =>
      grown[part] > growthAtMost[part] ? [`${part} grew by ${Math.round(grown[part] / megabyte)} MiB`] : [],
    ),
    figures: { temporalGrewBy: grown.temporal, journalGrewBy: grown.journal },
  };
}

/** Did an actor hear what it must not know? */
function judgeTexts({ stage, tales, personal }: Evidence): Verdict {
  const texts = Object.fromEntries(Object.entries(tales).map(([name, { heard }]) => [name, Buffer.from(heard)]));
  const leaks = findLeaks({ ...stage.secrets, ...personal }, texts);
  const stacks = Object.entries(texts).filter(([, text]) => /\bat \S+ \(?(file:|node:|\/)/.test(text.toString()));
  const unexpected = Object.entries(tales).flatMap(([name, { answers }]) =>
    Object.entries(answers)
      .filter(([answer]) => /^(raw )?5(?!03)|no answer/.test(answer))
      .map(([answer, n]) => `${name} got "${answer}" ${n} times`),
  );
  return {
    problems: [
      ...leaks.map((leak) => `heard: ${leak}`),
      ...stacks.map(([name]) => `${name} was shown a stack`),
      ...unexpected,
    ],
    figures: Object.fromEntries(Object.entries(tales).map(([name, { tried }]) => [`triedBy ${name}`, tried])),
  };
}

const claimsAtMost = 10;

/** Did an actor move an order, a ride or another run? */
async function judgeRuns({
  stage: { client, taskQueue, ingressUrl },
  isSigned,
  orders,
  victim,
}: Evidence): Promise<Verdict> {
  const rides = createFaretrailClient({ client, taskQueue });
  const problems: string[] = [];
  for (const [orderId, had] of orders) {
    const { outcome, attention, timeline, deliveries } = await rides.get('business', orderId).trail();
    if (outcome !== null || attention) problems.push(`order ${orderId} is ${outcome ?? attention?.code}`);
    if (isSigned && had.size > 1 && deliveries.received === 0)
      problems.push(`no delivery of the service reached order ${orderId}`);
    const claims = timeline.filter(({ source }) => source === 'delivery');
    if (claims.length > claimsAtMost) problems.push(`order ${orderId} shows ${claims.length} claims`);
    for (const { status, source } of timeline)
      if (source === 'read' && !had.has(status)) problems.push(`order ${orderId} was never ${status}`);
  }
  const count = async (query: string): Promise<number> => (await client.workflow.count(query)).count;
  const invented = (await count("WorkflowType = 'followOrder' AND RideAccount = 'business'")) - orders.size;
  const parked = await count("WorkflowType = 'parkedDelivery'");
  const decided = await count("WorkflowType = 'parkedDelivery' AND ExecutionStatus != 'Running'");
  // A caller may begin runs of an account that is offered to it, also with an order id that is none.
  const failed = await count(
    "ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut') AND NOT WorkflowId STARTS_WITH 'order/partner/'",
  );
  if (decided > 0) problems.push(`${decided} parked deliveries were decided`);
  if (failed > 0) problems.push(`${failed} runs failed`);
  const { events } = await client.workflow.getHandle(victim).fetchHistory();
  if (events?.some((event) => event.workflowExecutionSignaledEventAttributes))
    problems.push('a foreign run was signalled');
  const metrics = await (await fetch(`${ingressUrl}/metrics`)).text();
  const counted = [
    ...metrics.matchAll(/^faretrail_(forwarded_total|held_deliveries|deliveries_total)\{(.*)\} (\d+)$/gm),
  ];
  const ofIngress = Object.fromEntries(counted.map(([, name, labels, n]) => [`${name} ${labels}`, Number(n)]));
  return { problems, figures: { inventedRuns: invented, parkedDeliveries: parked, ...ofIngress } };
}

function judgeReceivers({ receivers, told }: Evidence): Verdict {
  const missing = told.filter((orderId) => !receivers.taken.some((notice) => notice.orderId === orderId));
  return {
    problems: [
      ...(missing.length > 0 ? [`the honest receiver has no notice of ${missing.length} orders`] : []),
      ...(receivers.strays() > 0 ? ['the worker followed a redirect of a receiver'] : []),
    ],
    figures: { noticesTaken: receivers.taken.length, badAnswers: sum(Object.values(receivers.answers)) },
  };
}

function judgeProcesses({ stage: { members } }: Evidence): Verdict {
  const ends = members.flatMap(({ name, ownEnds }) =>
    ownEnds().map(({ code }) => `${name} ended by itself with ${code}`),
  );
  const ours = members.filter(({ name }) => ['worker', 'ingress', 'desk'].includes(name));
  const logged = ours.map((member) => ({ name: member.name, bytes: member.output().length }));
  const loud = logged.filter(({ bytes }) => bytes > 4 * megabyte);
  return {
    problems: [...ends, ...loud.map(({ name, bytes }) => `${name} logged ${Math.round(bytes / megabyte)} MiB`)],
    figures: Object.fromEntries(logged.map(({ name, bytes }) => [`bytesLoggedBy ${name}`, bytes])),
  };
}

const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0);
