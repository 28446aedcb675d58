import { resendOne } from '../cli/notice.js';
import { FaretrailError, InvalidInput } from '../domain/errors.js';
import { toAccountName } from '../domain/keys.js';
import { toDeliveryId } from '../domain/parked.js';
import { toRideRequestId } from '../domain/ride/input.js';
import type { Note } from './pages/layout.js';
import { type Actor, type Runs, toOrderKey } from './runs.js';

/** What a form holds. */
export type Fields = Readonly<Record<string, string | undefined>>;

/** How long a person waits for a run; it goes on afterwards. */
const inTime = { withinMs: 15_000 };

/** What a button does, by its path, and in words what became of it. `id` names the order, ride or delivery within its account. */
interface Act {
  path: string;
  /** Where the person goes on. */
  back(params: Fields): string;
  /** Does it need a worker that answers? */
  needsWorker: boolean;
  act(actor: Actor, given: Fields, runs: Runs): Promise<string>;
}

const text = (given: Fields, name: string): string => given[name] ?? '';
const orderOf = (given: Fields) => toOrderKey({ account: text(given, 'account'), orderId: text(given, 'id') });
const parkedOf = ({ rides }: Actor, given: Fields) =>
  rides.getParked(toAccountName(given.account), toDeliveryId(given.id));
const samePage =
  (kind: 'orders' | 'rides' | 'parked') =>
  ({ account = '', id = '' }: Fields): string =>
    `/${kind}/${encodeURIComponent(account)}/${encodeURIComponent(id)}`;

/** All buttons. */
export const acts: readonly Act[] = [
  {
    path: '/orders/:account/:id/refresh',
    back: samePage('orders'),
    needsWorker: true,
    async act({ rides }, given) {
      const { account, orderId } = orderOf(given);
      const { status } = await rides.get(account, orderId).refresh(inTime);
      return `It was read just now: ${status ?? 'no status yet'}.`;
    },
  },
  {
    path: '/orders/:account/:id/stop',
    back: samePage('orders'),
    needsWorker: true,
    async act({ rides }, given) {
      const { account, orderId } = orderOf(given);
      await rides.get(account, orderId).stop(text(given, 'reason'), inTime);
      return 'The order is no longer followed.';
    },
  },
  {
    path: '/orders/:account/:id/follow',
    back: samePage('orders'),
    needsWorker: false,
    async act({ rides, inTime: briefly }, given) {
      await briefly(() => rides.follow(orderOf(given), { again: true }));
      return 'The order is followed again.';
    },
  },
  {
    path: '/rides/:account/:id/resolve',
    back: samePage('rides'),
    needsWorker: true,
    async act({ rides }, given) {
      const ride = rides.getRide(toAccountName(given.account), toRideRequestId(given.id));
      const [how, orderId, reason] = ['how', 'orderId', 'reason'].map((name) => text(given, name));
      const ways: Record<string, () => Promise<unknown>> = {
        made: () => ride.resolve({ orderId: orderId ?? '' }, inTime),
        tryAgain: () => ride.resolve({ tryAgain: true }, inTime),
        giveUp: () => ride.resolve({ giveUp: true, reason: reason ?? '' }, inTime),
      };
      const resolve = Object.hasOwn(ways, how ?? '') ? ways[how ?? ''] : undefined;
      if (!resolve) throw new InvalidInput('how: must be made, tryAgain or giveUp');
      await resolve();
      return 'The ride is resolved.';
    },
  },
  {
    path: '/parked/:account/:id/route',
    back: samePage('parked'),
    needsWorker: true,
    async act(actor, given) {
      await parkedOf(actor, given).route(text(given, 'orderId'), inTime);
      return 'The order has the delivery.';
    },
  },
  {
    path: '/parked/:account/:id/discard',
    back: samePage('parked'),
    needsWorker: true,
    async act(actor, given) {
      await parkedOf(actor, given).discard(text(given, 'reason'), inTime);
      return 'The delivery is discarded.';
    },
  },
  {
    path: '/notices/resend',
    back: () => '/notices',
    needsWorker: false,
    async act(actor, given, runs) {
      const missed = await runs.missed();
      const one = missed.find(({ id, missedAt }) => id === given.id && missedAt === given.missedAt);
      if (!one || !(await resendOne(actor, one))) throw new InvalidInput('notice: is no longer kept to be sent again');
      return 'The notice is sent again. If its receiver refuses it again, it comes back to this list.';
    },
  },
];

/** Presses a button under the name of a person, and tells what became of it. */
export async function press(act: Act, runs: Runs, who: string, given: Fields): Promise<Note & { error?: unknown }> {
  try {
    const why = act.needsWorker ? await runs.whyNoWorker() : null;
    if (why !== null) return { isGood: false, text: `Nothing was sent: ${why}.` };
    return { isGood: true, text: await act.act(runs.actor(who), given, runs) };
  } catch (error) {
    return { isGood: false, text: whatWentWrong(error), error };
  } finally {
    runs.forget();
  }
}

function whatWentWrong(error: unknown): string {
  if (!(error instanceof FaretrailError))
    return 'Temporal does not answer. Look at the page in a moment whether it took.';
  if (error.code === 'NoAnswer') return 'No answer yet: the run has it and goes on. Look at the page in a moment.';
  return `It did not take: ${error.message}`;
}
