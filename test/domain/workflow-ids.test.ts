import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type OrderId, toAccountName, toOrderId, toScope } from '../../src/domain/keys.js';
import {
  accessTokenId,
  companyReportId,
  followOrderId,
  fromAccessTokenId,
  fromFollowOrderId,
  lateNoticesId,
} from '../../src/domain/workflow-ids.js';
import { forAny } from '../support/for-any.js';

const isOrderId = (text: string): boolean => {
  try {
    return toOrderId(text) === text;
  } catch {
    return false;
  }
};

const accounts = fc.stringMatching(/^[a-z0-9-]{1,40}$/).map((name) => toAccountName(name));
const orderIds = fc
  .oneof(fc.string({ minLength: 1, maxLength: 128 }), fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }))
  .filter(isOrderId)
  .map((id): OrderId => toOrderId(id));
const credentialIds = fc.stringMatching(/^[0-9a-f]{16}$/);
/** RFC 6749 section 3.3 without "+", which joins values in our ids, and without "/". */
const scopes = fc
  .array(fc.stringMatching(/^[!#-*,-.0-[\]-~]{1,12}$/), { maxLength: 4 })
  .map((values) => toScope(values.join(' ')))
  .filter((scope) => scope !== 'unscoped');

describe('the id of a followed order', () => {
  it('is read back as what it was made of', () => {
    forAny(accounts, orderIds, (account, orderId) => {
      expect(fromFollowOrderId(followOrderId({ account, orderId }))).toEqual({ account, orderId });
    });
  });

  it('has the spelling that other programs rely on', () => {
    expect(followOrderId({ account: toAccountName('partner'), orderId: toOrderId(4711) })).toBe('order/partner/4711');
  });

  it.each([
    '',
    'order/',
    'order/partner',
    'order/partner/',
    'order//4711',
    'order/Partner/4711',
    'order/partner/4711/',
    'order/partner/47/11',
    '/order/partner/4711',
    'order/partner/4711/order/partner/4711',
    `order/${'x'.repeat(41)}/4711`,
    'Order/partner/4711',
    'ride/partner/4711',
    'token/partner/order/0123456789abcdef',
    'subscription/partner/status_changed',
  ])('is not %j', (workflowId) => {
    expect(fromFollowOrderId(workflowId)).toBeUndefined();
  });

  // What `toOrderId` refuses was never followed.
  it.each(['order/partner/ 4711', 'order/partner/a\nb', `order/partner/${'x'.repeat(129)}`])(
    'is not %j, since no order id looks like that',
    (workflowId) => {
      expect(fromFollowOrderId(workflowId)).toBeUndefined();
    },
  );
});

describe('the id of a token lease', () => {
  it('is read back as what it was made of', () => {
    forAny(accounts, scopes, credentialIds, (account, scope, credentialId) => {
      const key = { account, scope, credentialId };
      expect(fromAccessTokenId(accessTokenId(key))).toEqual(key);
    });
  });

  it('has the spelling that other programs rely on', () => {
    const account = toAccountName('business');
    const credentialId = '0123456789abcdef';
    expect(accessTokenId({ account, scope: toScope('order finance'), credentialId })).toBe(
      'token/business/finance+order/0123456789abcdef',
    );
    expect(accessTokenId({ account, scope: toScope(''), credentialId })).toBe(
      'token/business/unscoped/0123456789abcdef',
    );
  });

  it.each([
    '',
    'token/business',
    'token/business/order',
    'token/business/order/',
    'token/business//0123456789abcdef',
    'token/Business/order/0123456789abcdef',
    'token/business/order/0123456789abcdef/1',
    'order/business/4711',
  ])('is not %j', (workflowId) => {
    expect(fromAccessTokenId(workflowId)).toBeUndefined();
  });

  it('differs between two credentials, two scopes and two accounts', () => {
    forAny(fc.tuple(accounts, scopes, credentialIds), fc.tuple(accounts, scopes, credentialIds), (one, two) => {
      const toId = ([account, scope, credentialId]: typeof one) => accessTokenId({ account, scope, credentialId });
      expect(toId(one) === toId(two)).toBe(one.every((part, index) => part === two[index]));
    });
  });
});

it('the id of late notices names the run that they are about, its first run and the last notice', () => {
  const about = companyReportId({ account: toAccountName('business'), about: toOrderId('4711') });
  expect(lateNoticesId({ about, firstRunId: 'a1', last: 7 })).toBe('notices/report/business/4711/a1/7');
});
