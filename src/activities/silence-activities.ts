import type { AccountName } from '../domain/keys.js';
import type { SilenceWatch } from '../domain/subscription-input.js';
import { judgeSilence, type OrderCounts, silenceWindowStart } from '../domain/subscription-silence.js';
import { notYet } from './not-yet.js';

/** What a watch needs to know of the run that watches. */
export interface WatchSilenceInput extends SilenceWatch {
  account: AccountName;
  /** ISO instant since which the service delivers to the newest address. */
  registeredAt: string;
  /** What the run shows by now. */
  isSilent: boolean;
  /** ISO instant from which lasting silence is told again; null: never. */
  tellAgainAt: string | null;
}

/** What a watch found that the run does not show yet. */
export interface SilenceVerdict {
  isSilent: boolean;
  counts: OrderCounts;
}

export interface SilenceActivityPorts {
  /** Two counts in visibility, of orders of the account that started after this instant (epoch milliseconds). */
  countOrders(account: AccountName, startedAfter: number): Promise<OrderCounts>;
  now?: () => number;
  random?: () => number;
}

export type SilenceActivities = ReturnType<typeof createSilenceActivities>;

/** Subscriptions that began together drift apart: visibility takes few calls a second. */
const jitterShare = 0.1;

/** The activity that notices when deliveries do not come. It spends nothing of an account's request budget. */
export function createSilenceActivities({ countOrders, now = Date.now, random = Math.random }: SilenceActivityPorts) {
  return {
    /** Completes only with news; until then Temporal repeats it every `everyMs`, which adds no event. */
    async watchSilence(input: WatchSilenceInput): Promise<SilenceVerdict> {
      const { everyMs, isSilent, tellAgainAt } = input;
      const counts = await countOrders(input.account, silenceWindowStart(input.registeredAt, everyMs, now()));
      const verdict = judgeSilence(counts, input.minOrders, isSilent);
      const isDue = verdict && tellAgainAt !== null && Date.parse(tellAgainAt) <= now();
      if (verdict !== isSilent || isDue) return { isSilent: verdict, counts };
      const message = verdict ? 'Deliveries are still silent.' : 'Nothing speaks against the deliveries.';
      throw notYet(message, everyMs * (1 + random() * jitterShare));
    },
  };
}
