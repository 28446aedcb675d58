import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { createNotifyActivities } from '../../src/activities/notify.js';
import type { NotifyOutcome } from '../../src/notify-http/sender.js';
import { logger } from './attempts.js';

const url = 'https://orders.example.com:8443/hooks/s3cret-path?token=s3cret-query';
const now = Date.parse('2031-05-01T10:00:00Z');

async function failureOf(outcome: NotifyOutcome): Promise<ApplicationFailure | null> {
  const { notifyUrl } = createNotifyActivities({ send: async () => outcome, now: () => now, random: () => 0.5 });
  const environment = new MockActivityEnvironment({}, { logger });
  const input = { url, id: 'msg_1', event: {} };
  return await environment.run(notifyUrl, input).then(
    () => null,
    (error: unknown) => {
      if (error instanceof ApplicationFailure) return error;
      throw error;
    },
  );
}

const answered = (status: number, retryAfter?: string): NotifyOutcome => ({ kind: 'answered', status, retryAfter });

describe('telling a URL', () => {
  it.each([200, 202, 204, 299])('is done with HTTP %i', async (status) => {
    expect(await failureOf(answered(status))).toBeNull();
  });

  it.each<[string, NotifyOutcome]>([
    ['ReceiverGone', answered(410)],
    ['NotifyRefused', answered(400)],
    ['NotifyRefused', answered(401)],
    ['NotifyRefused', answered(404)],
    ['OriginNotAllowed', { kind: 'originNotAllowed' }],
    ['AddressNotAllowed', { kind: 'addressNotAllowed' }],
  ])('is given up as %s after %j', async (type, outcome) => {
    expect(await failureOf(outcome)).toMatchObject({ type, nonRetryable: true });
  });

  it.each([301, 307, 408, 425, 429, 500, 503])('is tried again after HTTP %i', async (status) => {
    expect(await failureOf(answered(status))).toMatchObject({ type: 'ReceiverUnavailable', nonRetryable: false });
  });

  it('is tried again when the receiver does not answer', async () => {
    const failure = await failureOf({ kind: 'unreachable', code: 'ECONNREFUSED' });
    expect(failure).toMatchObject({ type: 'ReceiverUnavailable', nonRetryable: false });
    expect(failure?.message).toContain('ECONNREFUSED');
  });

  it.each<[string, number]>([
    ['30', 30_000],
    ['0', 1_000],
    ['Thu, 01 May 2031 10:02:00 GMT', 120_000],
    ['86400', 3_600_000],
  ])('waits as the receiver asks, but no more than an hour: Retry-After %s', async (retryAfter, delay) => {
    for (const status of [429, 503]) {
      expect((await failureOf(answered(status, retryAfter)))?.nextRetryDelay).toBe(delay);
    }
  });

  it('waits a moment, without an error in the log, while this worker tells too many', async () => {
    expect(await failureOf({ kind: 'busy' })).toMatchObject({ category: 'BENIGN', nextRetryDelay: 2_000 });
  });

  it('shows of a URL its host alone', async () => {
    const unsent = (['originNotAllowed', 'addressNotAllowed', 'busy'] as const).map((kind) => ({ kind }));
    const timeout: NotifyOutcome = { kind: 'unreachable', code: 'TIMEOUT' };
    for (const outcome of [...[410, 400, 503].map((status) => answered(status)), ...unsent, timeout])
      expect((await failureOf(outcome))?.message).not.toContain('s3cret');
    expect((await failureOf(answered(400)))?.message).toBe('orders.example.com:8443 refused with HTTP 400.');
  });
});
