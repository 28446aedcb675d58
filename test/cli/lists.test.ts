import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { toStatusFilter } from '../../src/cli/arguments.js';
import { attentionColumns, concernNotes } from '../../src/cli/attention.js';
import { createContext } from '../../src/cli/command.js';
import { type ListedOrder, orderColumns } from '../../src/cli/order/view.js';
import {
  subscriptionColumns,
  subscriptionEndText,
  subscriptionText,
  toListedSubscription,
} from '../../src/cli/subscription.js';
import { type Columns, rowsText } from '../../src/cli/text.js';
import { tokenColumns, tokenFailures, toListedToken } from '../../src/cli/token.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { toAccountName, toScope } from '../../src/domain/keys.js';
import type { GenerationStatus, SubscriptionStatus } from '../../src/domain/subscription/status.js';
import { emptyLease, type TokenLease } from '../../src/domain/token-lease.js';
import { withCommand } from '../../src/temporal/attention.js';
import { fakeProcess, nowhere } from './fake-process.js';

/** The lines of a list where there is no colour. */
const linesOf = <Row>(columns: Columns<Row>, ...rows: Row[]): string[] =>
  stripVTControlCharacters(rowsText(columns, rows)).split('\n');

it('a query takes a known status in any spelling and an unknown one as it is', () => {
  expect(toStatusFilter('care_req', '--status')).toBe('CareReq');
  expect(toStatusFilter('driver swapped', '--status')).toBe('driver swapped');
  for (const text of ['', 'a\\b', 'a"b']) expect(() => toStatusFilter(text, '--status')).toThrow(InvalidInput);
});

it('order list has a line for each order, within 100 columns, and lets no status steer the terminal', () => {
  const order: ListedOrder = {
    ...{ kind: 'order', account: toAccountName('partner'), orderId: '1234567890' as ListedOrder['orderId'] },
    ...{ status: 'Driving', seenBy: 'read', attention: 'credentialsRejected', state: 'running' },
    ...{ startedAt: '2026-05-01T08:30:00.000Z', endedAt: null },
  };
  const unread = { ...order, status: null, seenBy: null };
  const lines = linesOf(orderColumns, order, unread, { ...order, status: '\u001b[2J' });
  expect(lines).toEqual([
    expect.stringMatching(/^account +order +status +seen by +attention +started \(UTC\) +run$/),
    expect.stringMatching(/^partner +1234567890 +Driving +read +credentialsRejected +2026-05-01 08:30:00 +running$/),
    expect.stringMatching(/^partner +1234567890 +- +- +credentialsRejected/),
    expect.stringMatching(/ \uFFFD\[2J /),
  ]);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
});

it('a list that is wider than the terminal has a block for each row, with its id whole', () => {
  const columns: Columns<{ id: string; note: string }> = { id: 'id', note: 'note' };
  const rows = [1, 2].map((number) => ({ id: `${number}`.repeat(36), note: 'waits' }));
  const atWidth = (width?: number) => stripVTControlCharacters(rowsText(columns, rows, width));
  expect(atWidth(43)).toBe(atWidth());
  expect(atWidth(42)).toBe(rows.map(({ id }) => `id    ${id}\nnote  waits`).join('\n\n'));
  const { table } = createContext(
    fakeProcess(nowhere, { stdout: { write: () => 0, isTTY: true, columns: 42 } }).process,
    {},
  );
  expect(stripVTControlCharacters(table(columns, rows))).toBe(atWidth(42));
});

const run: Parameters<typeof withCommand>[0] = {
  ...{ kind: 'order', account: 'partner', id: '4711', workflowId: 'order/partner/4711', code: 'forbidden' },
  ...{ message: 'The remedy.', since: '2026-05-01T08:30:00.000Z' },
};

it('attention has a line for each run, with the command that helps', () => {
  expect(linesOf(attentionColumns, withCommand({ ...run, id: '47 11' }))).toEqual([
    expect.stringMatching(/^kind +account +id +attention +since \(UTC\) +what helps$/),
    expect.stringMatching(/^order +partner +47 11 +forbidden +2026-05-01 08:30:00 +order show partner '47 11'$/),
  ]);
});

it('attention says which codes are for the dispatch desk, and that there is nothing to repair', () => {
  const rides = ['latePickup', 'forbidden', 'customerCare', 'latePickup'].map((code) => withCommand({ ...run, code }));
  const about = /^latePickup, customerCare: about the ride itself\. Ask the dispatch desk .* nothing is wrong/s;
  expect(concernNotes(rides)).toEqual([expect.stringMatching(about)]);
  expect(concernNotes([withCommand(run)])).toEqual([]);
});

const openedAt = '2031-05-01T10:00:00.000Z';
const generation = Date.parse(openedAt).toString(36);
const publicUrl = 'https://rides.example';
const key = { account: toAccountName('business'), eventType: 'status_changed' } as const;
const current: GenerationStatus = {
  ...{ generation, state: 'current', publicUrl, openedAt, until: null, updatedAt: null },
  ...{ subscriberId: 'sub-1', createdAt: '2031-05-01T10:00:01.5Z', isSecretKnown: true },
};
const status: SubscriptionStatus = {
  ...{ ...key, state: 'active', publicUrl, generations: [current], stillRegistered: [], attention: null },
};

it('the list of subscriptions shows state, time of opening and subscriber, or what the memo holds when no worker answers', () => {
  const listed = toListedSubscription(key, status, [generation]);
  const line = /business +status_changed +active +2031-05-01 10:00:00 +sub-1 +-/;
  expect(linesOf(subscriptionColumns, listed)[1]).toMatch(line);
  const known = { state: 'unknown', openedAt, accepted: 1, subscriberId: null };
  expect(toListedSubscription(key, undefined, [generation])).toMatchObject(known);
});

it('a subscription is shown with what needs a person and what the service still has, its end with what is left', () => {
  const attention = { code: 'forbidden', message: 'Check \u001b[2J the id.', since: openedAt } as const;
  const text = stripVTControlCharacters(subscriptionText({ ...status, attention, stillRegistered: ['sub-0'] }));
  expect(text).toContain('forbidden since 2031-05-01 10:00:00 UTC: Check \uFFFD[2J the id.');
  expect(text).toContain('still registered at the service: sub-0');
  const end = { ...key, reason: 'x', endedAt: openedAt, removed: ['a'], stillRegistered: ['b'], unclear: 1 };
  const left = /Removed at the service: a[\s\S]*unknown outcome: 1[\s\S]*still registered at the service: b/;
  expect(subscriptionEndText(end)).toMatch(left);
});

describe('a token', () => {
  const token = {
    ...{ id: 'token-id', sealed: 'eyJ.sealed.text', requestedAt: '2026-05-01T08:00:00.000Z' },
    ...{ renewAt: '2026-05-01T08:59:00.000Z', expiresAt: '2026-05-01T09:00:00.000Z' },
  };
  const lease: TokenLease = { ...emptyLease, token, renewals: 3 };
  const when = { at: '2026-05-01T08:30:00.000Z', retryAt: '2026-05-01T08:31:00.000Z' };
  const failure = { code: 'credentialsRejected', message: 'check the client secret.', ...when } as const;
  const refused: TokenLease = { ...lease, failure };
  const of = { account: toAccountName('partner'), scope: toScope('demand_partner'), credentialId: '0123456789abcdef' };
  const listedAt = (time: string, lease: TokenLease | null, isOpen = true) =>
    toListedToken(of, lease, { isOpen }, Date.parse(`2026-05-01T${time}Z`));

  it.each<[string, string, TokenLease | null, boolean?]>([
    ['serving', '08:30:00', lease],
    ['renewalDue', '08:59:30', lease],
    ['expired', '09:00:00', lease],
    ['failed', '08:30:00', refused],
    ['waiting', '08:30:00', null],
    ['waiting', '08:30:00', emptyLease],
    ['ended', '08:30:00', lease, false],
  ])('is %s at %s', (state, time, lease, isOpen) => expect(listedAt(time, lease, isOpen).state).toBe(state));

  it('is one line of the list, with the reason of a failure below, and without its sealed text', () => {
    const listed = listedAt('08:30:00', refused);
    expect(JSON.stringify(listed)).not.toMatch(/sealed|eyJ/);
    expect(linesOf(tokenColumns, listed, { ...listed, scope: toScope('') })).toEqual([
      'account  scope           state                        obtained (UTC)       expires (UTC)        so far',
      'partner  demand_partner  failed: credentialsRejected  2026-05-01 08:00:00  2026-05-01 09:00:00  3',
      'partner  unscoped        failed: credentialsRejected  2026-05-01 08:00:00  2026-05-01 09:00:00  3',
    ]);
    const reason = 'partner: check the client secret. Tried again from 2026-05-01 08:31:00 UTC.';
    expect(tokenFailures([listed])).toEqual([reason]);
  });
});
