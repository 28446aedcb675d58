import { expect, it } from 'vitest';
import { createNotifyActivities } from '../../src/activities/notify.js';
import type { NotifyOutcome } from '../../src/notify-http/sender.js';
import { attemptOnce, start } from './temporal.js';

const url = 'https://orders.example.com:8443/hooks/s3cret-path?token=s3cret-query';
async function failureOf(outcome: NotifyOutcome) {
  const { notifyUrl } = createNotifyActivities({
    send: async () => outcome,
    serverTime: async () => start,
    random: () => 0.5,
  });
  const { failure, error } = await attemptOnce({}, () => notifyUrl({ url, run: 'r', number: 1, event: {} }));
  expect(error).toBe(failure);
  return failure;
}

const answered = (status: number, retryAfter?: string): NotifyOutcome => ({ kind: 'answered', status, retryAfter });

it.each([200, 202, 204, 299])('a notice is delivered after HTTP %i', async (status) => {
  expect(await failureOf(answered(status))).toBeUndefined();
});

const again = (type: string, more: object = {}) => ({ type, nonRetryable: false, ...more });
const forGood = (type: string, ...details: unknown[]) => ({ type, nonRetryable: true, details });
it.each<[NotifyOutcome, object]>([
  [answered(410), forGood('ReceiverGone', 410)],
  ...[400, 403, 404].map((status): [NotifyOutcome, object] => [answered(status), forGood('NotifyRefused', status)]),
  // Rate limits of gateways.
  [answered(403, '30'), again('ReceiverUnavailable', { details: [403], nextRetryDelay: 30_000 })],
  [answered(403, 'soon'), forGood('NotifyRefused', 403)],
  [{ kind: 'originNotAllowed' }, forGood('OriginNotAllowed')],
  ...[301, 307, 401, 408, 425, 429, 500, 503].map((status): [NotifyOutcome, object] => [
    answered(status),
    again('ReceiverUnavailable', { details: [status] }),
  ]),
  [
    { kind: 'unreachable', code: 'ECONNREFUSED' },
    again('ReceiverUnavailable', { message: expect.stringContaining('ECONNREFUSED') }),
  ],
  // A name may change its address.
  [{ kind: 'addressNotAllowed' }, again('AddressNotAllowed', { nextRetryDelay: 600_000 })],
  // The worker sends too many: a moment, and no error in the log.
  [{ kind: 'busy' }, { category: 'BENIGN', nextRetryDelay: 2_000 }],
])('a notice fails after %j as %j', async (outcome, failure) => {
  expect(await failureOf(outcome)).toMatchObject(failure);
});

it.each<[string, number]>([
  ['30', 30_000],
  ['0', 1_000],
  ['Thu, 01 May 2031 10:02:00 GMT', 120_000],
  ['86400', 3_600_000],
])('a notice waits as long as Retry-After %s says, up to an hour', async (retryAfter, delay) => {
  for (const status of [429, 503]) {
    expect((await failureOf(answered(status, retryAfter)))?.nextRetryDelay).toBe(delay);
  }
});

it('a failure names only the host of the URL', async () => {
  const unsent = (['originNotAllowed', 'addressNotAllowed', 'busy'] as const).map((kind) => ({ kind }));
  const timeout: NotifyOutcome = { kind: 'unreachable', code: 'TIMEOUT' };
  for (const outcome of [...[410, 400, 503].map((status) => answered(status)), ...unsent, timeout])
    expect((await failureOf(outcome))?.message).not.toContain('s3cret');
  expect((await failureOf(answered(400)))?.message).toBe('orders.example.com:8443 refused with HTTP 400.');
});
