import { createHash } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { FaretrailError } from '../domain/errors.js';
import { type StoredChange, storeRefuses } from '../domain/notify/notices.js';
import { shownUrl } from '../domain/notify/receivers.js';
import type { NotifyInput, NotifyOutcome } from '../notify-http/sender.js';
import { certificateRemedy } from '../ride-api/errors.js';
import { retryAfterMs } from '../ride-api/refusal.js';
import { toDelay } from './failures.js';

/** The ports of the activity. */
export interface NotifyActivityPorts {
  /** One signed POST; follows no redirect, and never throws for what a receiver does. */
  send(input: NotifyInput): Promise<NotifyOutcome>;
  /** Now, by Temporal's clock. */
  serverTime(): Promise<number>;
  random?: () => number;
}

/** One notice for one URL. `run`: the id of the first run that made notices of this subject; `number`: of the notice among these. */
export interface NotifyUrlInput extends Omit<NotifyInput, 'id' | 'at'> {
  run: string;
  number: number;
}

/** The same at every attempt. A run that an operator resets uses its numbers again, so the contents belong to the id. */
const noticeId = (run: string, number: number, event: object): string =>
  `msg_${run}_${number}_${createHash('sha256').update(JSON.stringify(event)).digest('hex').slice(0, 16)}`;

/** The activity that sends notices, as workflows see it. */
export type NotifyActivities = ReturnType<typeof createNotifyActivities>;

/** The limit of a `Retry-After`, since all attempts must fit into a day. */
const maxRetryAfterMs = 3_600_000;

/** A repeat may succeed after these: RFC 9110 sections 15.5.2 (once the secrets or clocks agree) and 15.5.9, RFC 8470 section 5.2, RFC 6585 section 4. */
const passing4xx: readonly number[] = [401, 408, 425, 429];

/** Sends notices to URLs. It does not call the ride service, so it shares the queue of the token requests. */
export function createNotifyActivities(ports: NotifyActivityPorts) {
  const { send, serverTime, random = Math.random } = ports;
  return {
    /** Completes once the receiver has answered 2xx. Trouble that cannot pass by itself fails for good; Temporal repeats the rest. */
    async notifyUrl({ run, number, ...input }: NotifyUrlInput): Promise<void> {
      const at = await serverTime();
      const outcome = await send({ ...input, id: noticeId(run, number, input.event), at });
      if (outcome.kind === 'busy') {
        const message = 'Too many receivers are being told by this worker.';
        const nextRetryDelay = toDelay(1_000 + random() * 2_000);
        throw ApplicationFailure.create({ type: 'NotifyBusy', message, category: 'BENIGN', nextRetryDelay });
      }
      if (outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300) return;
      // The path and the query of a URL may be secrets of its owner.
      throw toFailure(outcome, shownUrl(input.url), at);
    },
  };
}

/** A name may stand for a private address by mistake and for a while, such as during a change of its records. */
const addressAgainMs = 600_000;

const forGood = (type: string, message: string, ...details: unknown[]): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, type, ...details);

function toFailure(outcome: Exclude<NotifyOutcome, { kind: 'busy' }>, host: string, now: number): ApplicationFailure {
  switch (outcome.kind) {
    case 'originNotAllowed':
      return forGood('OriginNotAllowed', `Add the origin of ${host} to FARETRAIL_NOTIFY_ORIGINS.`);
    case 'addressNotAllowed':
      return ApplicationFailure.create({
        type: 'AddressNotAllowed',
        message: `${host} is at an address that is not public (FARETRAIL_NOTIFY_PRIVATE).`,
        nextRetryDelay: toDelay(addressAgainMs),
      });
    case 'unreachable':
      return ApplicationFailure.retryable(
        `${host} does not answer: ${outcome.code}${certificateRemedy(outcome.code)}.`,
        'ReceiverUnavailable',
      );
    case 'answered':
      return toRefusal(outcome, host, now);
  }
}

type Answer = Extract<NotifyOutcome, { kind: 'answered' }>;

/** The status is the one detail. */
function toRefusal({ status, retryAfter }: Answer, host: string, now: number): ApplicationFailure {
  if (status === 410) return forGood('ReceiverGone', `${host} wants no more (HTTP 410).`, status);
  const waitMs = retryAfterMs({ 'retry-after': retryAfter }, { now, maxWaitMs: maxRetryAfterMs });
  const isFinal = status >= 400 && status < 500 && !passing4xx.includes(status) && waitMs === undefined;
  if (isFinal) return forGood('NotifyRefused', `${host} refused with HTTP ${status}.`, status);
  return ApplicationFailure.create({
    type: 'ReceiverUnavailable',
    message: `${host} answered HTTP ${status}.`,
    details: [status],
    ...(waitMs === undefined ? {} : { nextRetryDelay: toDelay(waitMs) }),
  });
}

/** Where a worker records changes. `none`: its settings name no store. `off`: there shall be none any more. */
export type StorePort = { record(change: StoredChange): Promise<void> } | 'none' | 'off';

/** The activity that records changes, as workflows see it. */
export type StoreActivities = ReturnType<typeof createStoreActivities>;

/** Records changes of orders in the store. */
export const createStoreActivities = ({ store }: { store: StorePort }) => ({
  /** Completes once the change is recorded. Temporal repeats it while the store does not answer, and not what the store never takes. */
  async recordChange(change: StoredChange): Promise<void> {
    if (store === 'off') return;
    if (store === 'none') throw unavailable('This worker has no FARETRAIL_STORE_URL; another one may have it.');
    await store.record(change).catch((error: unknown) => {
      if (error instanceof FaretrailError && error.code === storeRefuses) throw forGood(storeRefuses, error.message);
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      throw unavailable(`The store does not take the change${code}.`);
    });
  },
});

const unavailable = (message: string): ApplicationFailure => ApplicationFailure.retryable(message, 'StoreUnavailable');
