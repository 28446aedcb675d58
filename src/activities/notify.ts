import { ApplicationFailure } from '@temporalio/common';
import type { NotifyInput, NotifyOutcome } from '../notify-http/sender.js';
import { retryAfterMs } from '../ride-api/retry-decision.js';
import { toDelay } from './failures.js';

/** What the activity below works with. */
export interface NotifyActivityPorts {
  /** One signed POST; follows no redirect, and never throws for what a receiver does. */
  send(input: NotifyInput): Promise<NotifyOutcome>;
  now?: () => number;
  random?: () => number;
}

export type NotifyActivities = ReturnType<typeof createNotifyActivities>;

/** A longer wish than that of `Retry-After` is not granted: all attempts must fit into a day. */
const maxRetryAfterMs = 3_600_000;

/** Later the same request may be answered otherwise, RFC 9110 section 15.5.9, RFC 8470 section 5.2, RFC 6585 section 4. */
const passing4xx: readonly number[] = [408, 425, 429];

/** Tells URLs. It calls no ride service, so it runs beside the token requests. */
export function createNotifyActivities({ send, now = Date.now, random = Math.random }: NotifyActivityPorts) {
  return {
    /** Completes once the receiver has answered 2xx. What cannot change by itself fails for good; the rest is tried again. */
    async notifyUrl(input: NotifyInput): Promise<void> {
      const outcome = await send(input);
      if (outcome.kind === 'busy') throw busy(1_000 + random() * 2_000);
      if (outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300) return;
      // The path and the query of a URL may be secrets of its owner.
      throw toFailure(outcome, new URL(input.url).host, now());
    },
  };
}

const forGood = (type: string, message: string): ApplicationFailure => ApplicationFailure.nonRetryable(message, type);

const busy = (delayMs: number): ApplicationFailure =>
  ApplicationFailure.create({
    type: 'NotifyBusy',
    message: 'Too many receivers are being told by this worker.',
    category: 'BENIGN',
    nextRetryDelay: toDelay(delayMs),
  });

function toFailure(outcome: Exclude<NotifyOutcome, { kind: 'busy' }>, host: string, now: number): ApplicationFailure {
  switch (outcome.kind) {
    case 'originNotAllowed':
      return forGood('OriginNotAllowed', `Add the origin of ${host} to FARETRAIL_NOTIFY_ORIGINS.`);
    case 'addressNotAllowed':
      return forGood('AddressNotAllowed', `${host} is at an address that is not public (FARETRAIL_NOTIFY_PRIVATE).`);
    case 'unreachable':
      return ApplicationFailure.retryable(`${host} does not answer: ${outcome.code}.`, 'ReceiverUnavailable');
    case 'answered':
      return toRefusal(outcome, host, now);
  }
}

type Answer = Extract<NotifyOutcome, { kind: 'answered' }>;

function toRefusal({ status, retryAfter }: Answer, host: string, now: number): ApplicationFailure {
  if (status === 410) return forGood('ReceiverGone', `${host} wants no more (HTTP 410).`);
  const isFinal = status >= 400 && status < 500 && !passing4xx.includes(status);
  if (isFinal) return forGood('NotifyRefused', `${host} refused with HTTP ${status}.`);
  const waitMs = retryAfterMs({ 'retry-after': retryAfter }, { now, maxWaitMs: maxRetryAfterMs });
  return ApplicationFailure.create({
    type: 'ReceiverUnavailable',
    message: `${host} answered HTTP ${status}.`,
    ...(waitMs === undefined ? {} : { nextRetryDelay: toDelay(waitMs) }),
  });
}
