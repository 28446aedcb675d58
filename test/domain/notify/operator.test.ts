import { describe, expect, it } from 'vitest';
import {
  knownAfter,
  mostKnown,
  type Need,
  readNeed,
  suspectsIn,
  toOperatorEvent,
} from '../../../src/domain/notify/operator.js';

const need = (workflowType: string, workflowId: string, code: string): Need => ({
  ...{ workflowType, workflowId, account: 'partner', code },
});
const order = need('followOrder', 'order/partner/1', 'latePickup');
const parked = need('parkedDelivery', 'parked/partner/0f', 'noOrderId');
const silent = need('subscription', 'subscription/partner/status_changed', 'subscriptionSilent');

describe('what the operator is told', () => {
  it.each([
    [null, order, 'attention.raised'],
    [order, { ...order, code: 'stuckInStatus' }, 'attention.raised'],
    [null, parked, 'delivery.parked'],
    [null, silent, 'subscription.silent'],
    [order, null, 'attention.cleared'],
    [parked, null, 'attention.cleared'],
  ])('of %j that becomes %j is %s', (before, now, type) => {
    expect(toOperatorEvent({ before, now })).toEqual({ type, data: now ?? before });
    expect(knownAfter(before ? [before, silent] : [silent], { before, now })).toEqual([silent, ...(now ? [now] : [])]);
  });

  it('is asked of each run that the list shows otherwise than it was told, and of no other, each once', () => {
    const changed = { ...order, code: 'stuckInStatus' };
    expect(suspectsIn([order, parked], [order, silent])).toEqual([silent.workflowId, parked.workflowId]);
    expect(suspectsIn([changed, changed], [order])).toEqual([order.workflowId]);
    expect(suspectsIn([order], [order])).toEqual([]);
  });

  it('is trouble of an account once, and not for each order of it', () => {
    const code = 'credentialsRejected';
    const watch = need('accountWatch', 'watch/partner', code);
    const [mine, token] = [{ ...order, code }, need('accessToken', 'token/partner/order/a1', code)];
    const ofOther = { ...mine, account: 'business', workflowId: 'order/business/1' };
    expect(suspectsIn([mine, token, watch, ofOther, order], [])).toEqual(
      [watch, ofOther, order].map((one) => one.workflowId),
    );
  });

  it('is bounded, and parked deliveries, of which a stranger may cause any number, take no room from the rest', () => {
    const some = (type: string) =>
      Array.from({ length: 1_001 }, (_, n) =>
        need(type, `${type}/${n}`, type === 'parkedDelivery' ? 'noOrderId' : 'a'),
      );
    const [flood, many] = [some('parkedDelivery'), some('followOrder')];
    const known = flood.slice(0, mostKnown.parked);
    expect(suspectsIn(flood, [])).toHaveLength(mostKnown.parked);
    expect(suspectsIn([...flood, order], known)).toEqual([order.workflowId]);
    expect(suspectsIn([...many, ...flood], known)).toHaveLength(mostKnown.others);
    expect(suspectsIn([...many, ...flood, order], [...known, ...many.slice(0, mostKnown.others)])).toEqual([]);
  });

  it('holds nothing that another program has put into the search attributes of its runs', () => {
    for (const wrong of [
      { ...order, code: 'x'.repeat(201) },
      { ...order, account: undefined },
      { ...order, code: 1 },
    ])
      expect(readNeed(wrong)).toBeNull();
  });
});
