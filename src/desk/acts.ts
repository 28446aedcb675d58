import type { FastifyRequest } from 'fastify';
import { monotonicMs } from '../clock.js';
import { FaretrailError, InvalidInput } from '../domain/errors.js';
import { toAccountName } from '../domain/keys.js';
import { troubleOf } from '../domain/order/trail.js';
import { resendOne } from '../temporal/notices.js';
import { findParked } from '../temporal/parked.js';
import { FaretrailClientError } from '../temporal/run-errors.js';
import { readEach } from '../temporal/visibility.js';
import type { Note } from './pages/layout.js';
import { type Actor, mostParked, type Runs } from './runs.js';

/** What a form and its address hold. */
export type Fields = Readonly<Record<string, string | undefined>>;

/** What a request with a form holds. */
export const fieldsOf = ({ body, params }: FastifyRequest): Fields => ({ ...(body as Fields), ...(params as Fields) });

/** Presses a button, and says what became of it. Rejects where it did not take. */
type Act = (actor: Actor, given: Fields, runs: Runs) => Promise<string>;

/** How long a person waits for a run; it goes on afterwards. */
const inTime = { withinMs: 15_000 };
/** How long many deliveries are discarded one by one, before the page says how many are left. */
const discardForMs = 15_000;

const orderOf = ({ rides }: Actor, { account = '', id = '' }: Fields) => rides.get(account, id);
const parkedOf = ({ rides }: Actor, { account = '', id = '' }: Fields) => rides.getParked(account, id);

/** All buttons, by their paths. `id` names the order, ride or delivery within its account. */
export const acts: Readonly<Record<string, Act>> = {
  async '/orders/:account/:id/refresh'(actor, given) {
    const trail = await orderOf(actor, given).refresh(inTime);
    const trouble = troubleOf(trail);
    if (trouble) throw new FaretrailClientError('NotRead', `the order could not be read. ${trouble.message}`);
    return `It was read just now: ${trail.status ?? 'no status yet'}.`;
  },
  async '/orders/:account/:id/stop'(actor, given) {
    await orderOf(actor, given).stop(given.reason ?? '', inTime);
    return 'The order is no longer followed.';
  },
  async '/orders/:account/:id/follow'({ rides, inTime: briefly }, { account = '', id = '' }) {
    await briefly(() => rides.follow({ account, orderId: id }, { again: true }));
    return 'The order is followed again.';
  },
  async '/rides/:account/:id/resolve'({ rides }, { account = '', id = '', how = '', orderId = '', reason = '' }) {
    const ways = { made: { orderId }, tryAgain: { tryAgain: true }, giveUp: { giveUp: true, reason } } as const;
    if (!Object.hasOwn(ways, how)) throw new InvalidInput('how: must be made, tryAgain or giveUp');
    const { attention } = await rides.getRide(account, id).resolve(ways[how as keyof typeof ways], inTime);
    if (attention?.code === 'outcomeUnknown') throw new FaretrailClientError(attention.code, attention.message);
    return 'The ride is resolved.';
  },
  async '/parked/:account/:id/route'(actor, given) {
    await parkedOf(actor, given).route(given.orderId ?? '', inTime);
    return 'The order has the delivery.';
  },
  async '/parked/:account/:id/discard'(actor, given) {
    await parkedOf(actor, given).discard(given.reason ?? '', inTime);
    return 'The delivery is discarded.';
  },
  async '/parked/discard'(actor, { account = '', eventType = '', reason = '' }) {
    const { rows } = await findParked(actor, { account: toAccountName(account), limit: mostParked });
    const ofAddress = rows.filter((one) => one.eventType === eventType);
    const until = monotonicMs() + discardForMs;
    const failed: unknown[] = [];
    const done = await readEach(ofAddress, async ({ deliveryId }) => {
      if (monotonicMs() > until) return [];
      const call = actor.rides.getParked(account, deliveryId).discard(reason, inTime);
      return await call.then(
        () => [deliveryId],
        (error: unknown) => {
          failed.push(error); // mostly somebody has decided about it meanwhile
          return [];
        },
      );
    });
    if (done.length === 0 && failed.length > 0) throw failed[0];
    const left = ofAddress.length - done.length;
    return `${done.length} deliveries are discarded${left > 0 ? `; ${left} are left. Press again` : ''}.`;
  },
  async '/notices/resend'(actor, given, runs) {
    const one = (await runs.missed()).find(({ id, missedAt }) => id === given.id && missedAt === given.missedAt);
    if (!one || !(await resendOne(actor, one))) throw new InvalidInput('notice: is no longer kept to be sent again');
    return 'The notice is sent again. If its receiver refuses it again, it comes back to this list.';
  },
};

/** Temporal takes these for a worker that comes later. */
const needNoWorker: readonly string[] = ['/orders/:account/:id/follow', '/notices/resend'];

/** Presses the button of a path under the name of a person, and tells what became of it. */
export async function press(path: string, runs: Runs, who: string, given: Fields): Promise<Note & { error?: unknown }> {
  try {
    const why = needNoWorker.includes(path) ? null : await runs.whyNoWorker();
    if (why !== null) return { isGood: false, text: `Nothing was sent: ${why}.` };
    return { isGood: true, text: (await acts[path]?.(runs.actor(who), given, runs)) ?? '' };
  } catch (error) {
    return { isGood: false, text: whatWentWrong(error), error };
  } finally {
    runs.forget();
  }
}

function whatWentWrong(error: unknown): string {
  if (!(error instanceof FaretrailError)) return 'Temporal does not answer. Look in a moment whether it took.';
  if (error.code === 'NoAnswer') return 'No answer yet: the run has it and goes on. Look at the page in a moment.';
  return `It did not take: ${error.message}`;
}
