import type { OrderTrail } from '../../../src/client/index.js';
import type { Course } from './judge-work.js';
import { noticePaths, type ReceivedNotice } from './receivers.js';
import type { Stage } from './stage.js';
import { together, type Verdict } from './verdict.js';
import type { WorkDone } from './work.js';

/** What is known of an order whose changes a receiver was to be told. */
export interface ToldOrder {
  trail: OrderTrail;
  course: Course;
  /** From then on the run knew the receiver. Null: from its start. */
  toldFrom: number | null;
}

/** Did each receiver get each change and the end, in order, and signed for it? */
export async function judgeNotices(stage: Stage, { orders }: WorkDone): Promise<Verdict> {
  const problems: string[] = [];
  let told = 0;
  for (const { account, orderId, end, toldFrom } of orders) {
    if (toldFrom === undefined || !('value' in end)) continue;
    told += 1;
    const course = await stage.sandbox.orderCourse(account as 'business', orderId);
    // Deliveries may start the run of a business order before the caller names the receivers.
    const about = { trail: end.value, course, toldFrom: account === 'business' ? toldFrom : null };
    for (const [name, { received }] of Object.entries(stage.receivers)) {
      const at = (path: string) => received.filter((one) => one.path === path);
      const { staying, leaving } = noticePaths(orderId);
      const wrong = [untold(at(staying), about), disorder(at(staying)), afterLeaving(at(leaving))];
      problems.push(...wrong.flatMap((why) => (why ? [`${name} about ${account}/${orderId}: ${why}`] : [])));
    }
  }
  return together([{ problems, figures: { noticesTold: told } }, judgeReceivers(stage)]);
}

function judgeReceivers({ receivers }: Stage): Verdict {
  const all = Object.values(receivers).flatMap(({ origin, received }) =>
    received.map(({ id, path, answer }) => ({ key: `${origin}${path} ${id}`, answer })),
  );
  return {
    problems: Object.entries(receivers).flatMap(([name, receiver]) =>
      receiver.unverified() > 0 ? [`${name}: ${receiver.unverified()} requests were not signed for it`] : [],
    ),
    figures: {
      noticesArrived: all.length,
      noticesRepeated: all.length - new Set(all.map(({ key }) => key)).size,
      noticesOfThoseWhoLeft: new Set(all.filter(({ answer }) => answer === 410).map(({ key }) => key)).size,
    },
  };
}

/** Attention makes notices with the same status. */
const withoutRepeats = (words: readonly string[]): string[] => words.filter((word, i) => word !== words[i - 1]);

/** How the notices that a receiver has taken differ from the trail; null if they do not. */
export function untold(received: readonly ReceivedNotice[], { trail, course, toldFrom }: ToldOrder): string | null {
  const taken = firstOfEach(received.filter(({ answer }) => answer === 204)).map(({ change }) => change);
  const seen = withoutRepeats(taken.map(({ rawStatus }) => rawStatus ?? ''));
  const reads = trail.timeline.filter(({ source }) => source === 'read').map(({ rawStatus }) => rawStatus);
  const wanted = withoutRepeats(reads);
  const missed = wanted.slice(0, wanted.length - seen.length);
  const isPart = seen.every((word, i) => word === wanted[missed.length + i]);
  const mayMiss = (word: string) =>
    toldFrom !== null && course.some(({ status, at }) => status === word && Date.parse(at) <= toldFrom);
  if (!isPart || seen.length > wanted.length || !missed.every(mayMiss))
    return `was told ${seen.join(' > ') || 'nothing'}, the trail has ${wanted.join(' > ')}`;
  if (taken.length > 0 && taken.at(-1)?.outcome !== trail.outcome) return 'was not told the end';
  return null;
}

const firstOfEach = (notices: readonly ReceivedNotice[]): ReceivedNotice[] =>
  notices.filter(({ id }, i) => notices.findIndex((one) => one.id === id) === i);

/** The number of a notice ends its id. */
/** `msg_<run>_<number>_<contents>`. */
const numberOf = ({ id }: ReceivedNotice): number => Number(id.split('_')[2]);

/** A notice that arrived after a later one; null if there is none. */
export function disorder(received: readonly ReceivedNotice[]): string | null {
  const wrong = received.find((notice, i) => i > 0 && numberOf(notice) < numberOf(received[i - 1] as ReceivedNotice));
  return wrong ? `notice ${wrong.id} came after a later one` : null;
}

/** A notice after the receiver had said that it wants no more; null if there is none. */
export function afterLeaving(received: readonly ReceivedNotice[]): string | null {
  const left = received.findIndex(({ answer }) => answer === 410);
  const late = received.slice(left + 1).find(({ id }) => left >= 0 && id !== received[left]?.id);
  return late ? `notice ${late.id} came after the answer 410` : null;
}
