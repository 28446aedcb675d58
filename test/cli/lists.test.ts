import { describe, expect, it } from 'vitest';
import { attentionColumns, concernNotes, type RunInNeed, withCommand } from '../../src/cli/attention.js';
import { attentionQuery, newestRunsQuery, toStatusFilter } from '../../src/cli/lists.js';
import { type ListedOrder, orderColumns } from '../../src/cli/order/show.js';
import {
  subscriptionColumns,
  subscriptionEndText,
  subscriptionText,
  toListedSubscription,
} from '../../src/cli/subscription.js';
import { rowsText, withoutColour } from '../../src/cli/text.js';
import { tokenColumns, tokenFailures, toListedToken } from '../../src/cli/token.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { toAccountName, toScope } from '../../src/domain/keys.js';
import { quote } from '../../src/domain/search-attribute-names.js';
import type { GenerationStatus, SubscriptionStatus } from '../../src/domain/subscription/status.js';
import { emptyLease, type TokenLease } from '../../src/domain/token-lease.js';

describe('a query', () => {
  it('of order list asks for runs of orders, each once, that fit the options', () => {
    expect(newestRunsQuery('followOrder', {})).toBe(
      "WorkflowType = 'followOrder' AND ExecutionStatus != 'ContinuedAsNew'",
    );
    const running = "WorkflowType = 'followOrder' AND ExecutionStatus = 'Running'";
    const query = newestRunsQuery('followOrder', {
      account: toAccountName('partner'),
      status: 'Driving',
      running: true,
    });
    expect(query).toBe(`${running} AND RideAccount = 'partner' AND RideStatus = 'Driving'`);
  });

  it('of attention asks for the runs that need a person', () => {
    const inNeed = "(RideAttention IS NOT NULL OR WorkflowType = 'parkedDelivery')";
    const query = attentionQuery(toAccountName('partner'));
    expect(query).toBe(`ExecutionStatus = 'Running' AND ${inNeed} AND RideAccount = 'partner'`);
  });

  it('lets no status end its quotes', () => {
    expect(quote("x' OR WorkflowType = 'y")).toBe("'x\\' OR WorkflowType = \\'y'");
    expect(quote('x\\')).toBe("'x\\\\'");
  });

  it('takes a known status in any spelling and an unknown one as it is', () => {
    expect(toStatusFilter('care_req')).toBe('CareReq');
    expect(toStatusFilter('driver swapped')).toBe('driver swapped');
    for (const text of ['', 'a\\b', 'a"b']) expect(() => toStatusFilter(text)).toThrow(InvalidInput);
  });
});

describe('the table of order list', () => {
  const order: ListedOrder = {
    kind: 'order',
    account: 'partner',
    orderId: '1234567890',
    status: 'Driving',
    seenBy: 'read',
    attention: 'credentialsRejected',
    state: 'running',
    startedAt: '2026-05-01T08:30:00.000Z',
    endedAt: null,
  };

  it('has a line for each order, within 100 columns', () => {
    const rows = [order, { ...order, status: null, seenBy: null }];
    const lines = rowsText(orderColumns, rows, withoutColour).split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^account +order +status +seen by +attention +started \(UTC\) +run$/);
    expect(lines[1]).toMatch(/^partner +1234567890 +Driving +read +credentialsRejected +2026-05-01 08:30:00 +running$/);
    expect(lines[2]).toMatch(/^partner +1234567890 +- +- +credentialsRejected/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it('lets no status steer the terminal', () => {
    expect(rowsText(orderColumns, [{ ...order, status: '\u001b[2J' }], withoutColour)).not.toContain('\u001b');
  });
});

describe('the table of attention', () => {
  const run = {
    kind: 'order',
    account: 'partner',
    id: '4711',
    workflowId: 'order/partner/4711',
    code: 'forbidden',
    message: 'The remedy.',
    since: '2026-05-01T08:30:00.000Z',
  } as const;

  it('has a line for each run, with the command that helps', () => {
    const text = rowsText(attentionColumns, [withCommand({ ...run, id: '47 11' })], withoutColour);
    expect(text.split('\n')).toEqual([
      expect.stringMatching(/^kind +account +id +attention +since \(UTC\) +what helps$/),
      expect.stringMatching(/^order +partner +47 11 +forbidden +2026-05-01 08:30:00 +order show partner '47 11'$/),
    ]);
  });

  it('says which codes are for the dispatch desk, and that there is nothing to repair', () => {
    const rides = ['latePickup', 'forbidden', 'customerCare', 'latePickup'].map((code) =>
      withCommand({ ...run, code }),
    );
    const about = /^latePickup, customerCare: about the ride itself\. Ask the dispatch desk .* nothing is wrong/s;
    expect(concernNotes(rides)).toEqual([expect.stringMatching(about)]);
    expect(concernNotes([withCommand(run)])).toEqual([]);
  });

  it.each<[Partial<RunInNeed>, string]>([
    [{ code: 'latePickup' }, 'order show partner 4711'],
    [{ code: 'credentialsRejected' }, 'token list'],
    [{ kind: 'token', code: 'upstreamUnavailable' }, 'token list'],
    [{ kind: 'ride', code: 'outcomeUnknown', id: 'trip-9' }, 'ride resolve partner trip-9'],
    [{ kind: 'ride', code: 'upstreamUnavailable' }, 'probe partner'],
    [{ kind: 'subscription', code: 'subscriptionSilent', id: 'ab' }, 'subscription rotate partner ab'],
    [{ kind: 'subscription', code: 'outcomeUnknown' }, 'subscription list --account partner'],
    [{ kind: 'parked', code: 'noOrderId', id: 'ab' }, 'delivery route partner ab --order ID'],
    [{ kind: 'call', code: 'upstreamUnavailable' }, 'probe partner'],
    [{ kind: 'watch', code: 'upstreamUnavailable' }, 'probe partner'],
    [{ kind: 'watch', code: 'scopeRejected' }, 'token list'],
    [{ kind: 'account', code: 'noWatch' }, 'doctor'],
  ])('names for %j the command %s', (more, command) => {
    expect(withCommand({ ...run, ...more }).command).toBe(command);
  });
});

const openedAt = '2031-05-01T10:00:00.000Z';
const generation = Date.parse(openedAt).toString(36);
const key = { account: toAccountName('business'), eventType: 'status_changed' } as const;
const current: GenerationStatus = {
  generation,
  state: 'current',
  publicUrl: 'https://rides.example',
  openedAt,
  until: null,
  subscriberId: 'sub-1',
  createdAt: '2031-05-01T10:00:01.5Z',
  updatedAt: null,
  isSecretKnown: true,
};
const status: SubscriptionStatus = {
  ...key,
  state: 'active',
  publicUrl: 'https://rides.example',
  generations: [current],
  stillRegistered: [],
  attention: null,
};

describe('the list of subscriptions', () => {
  const listed = (status: SubscriptionStatus | undefined) => toListedSubscription(key, status, [generation]);

  it('shows state, time of opening and subscriber', () => {
    const text = rowsText(subscriptionColumns, [listed(status)], withoutColour);
    expect(text).toMatch(/business +status_changed +active +2031-05-01 10:00:00 +sub-1 +-/);
  });

  it('shows what the memo holds when no worker answers', () => {
    expect(listed(undefined)).toMatchObject({ state: 'unknown', openedAt, accepted: 1, subscriberId: null });
  });
});

it('a subscription is shown with what needs a person and what the service still has, its end with what is left', () => {
  const attention = { code: 'forbidden', message: 'Check \u001b[2J the id.', since: openedAt } as const;
  const text = subscriptionText({ ...status, attention, stillRegistered: ['sub-0'] }, withoutColour);
  expect(text).toContain('forbidden since 2031-05-01 10:00:00 UTC');
  expect(text).toContain('still registered at the service: sub-0');
  expect(text).not.toContain('\u001b');
  const end = { ...key, reason: 'x', endedAt: openedAt, removed: ['a'], stillRegistered: ['b'], unclear: 1 };
  const left = /Removed at the service: a[\s\S]*unknown outcome: 1[\s\S]*still registered at the service: b/;
  expect(subscriptionEndText(end, withoutColour)).toMatch(left);
});

const token = {
  id: 'token-id',
  sealed: 'eyJ.sealed.text',
  requestedAt: '2026-05-01T08:00:00.000Z',
  renewAt: '2026-05-01T08:59:00.000Z',
  expiresAt: '2026-05-01T09:00:00.000Z',
};
const lease: TokenLease = { ...emptyLease, token, renewals: 3 };
const refused: TokenLease = {
  ...lease,
  failure: {
    code: 'credentialsRejected',
    message: 'check the client secret.',
    at: '2026-05-01T08:30:00.000Z',
    retryAt: '2026-05-01T08:31:00.000Z',
  },
};

describe('a token', () => {
  const of = { account: toAccountName('partner'), scope: toScope('demand_partner'), credentialId: '0123456789abcdef' };
  const listedAt = (time: string, lease: TokenLease | null, isOpen = true) =>
    toListedToken(of, lease, { isOpen }, Date.parse(`2026-05-01T${time}Z`));
  const listed = listedAt('08:30:00', refused);

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
    expect(JSON.stringify(listed)).not.toMatch(/sealed|eyJ/);
    expect(rowsText(tokenColumns, [listed], withoutColour).split('\n')).toEqual([
      'account  scope           state                        obtained (UTC)       expires (UTC)        so far',
      'partner  demand_partner  failed: credentialsRejected  2026-05-01 08:00:00  2026-05-01 09:00:00  3',
    ]);
    const reason = 'partner: check the client secret. Tried again from 2026-05-01 08:31:00 UTC.';
    expect(tokenFailures([listed])).toEqual([reason]);
  });

  it('without scope is called unscoped', () => {
    expect(rowsText(tokenColumns, [{ ...listed, scope: toScope('') }], withoutColour)).toContain('unscoped');
  });
});
