import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { shares } from '../../src/domain/shares.js';

const page = readFileSync(new URL('../../docs/reference/shares.md', import.meta.url), 'utf8');
const { body, address, account, parked, unprovenReads } = shares;
const whole = (value: number): string => value.toLocaleString('en-US');

it.each([
  `${body.kilobytes} KiB`,
  `${whole(body.items)} members and elements`,
  `${body.longNumbers} numbers too long`,
  `${address.perSecond} a second`,
  `${whole(address.perSecond * address.burstSeconds)} at once`,
  `each started ${address.bytesPerDelivery / 1_024} KiB of a body`,
  `than it may as ${address.bomb}`,
  `${account.newOrders} runs that deliveries started`,
  `${whole(account.waiting)} that are not proven and wait`,
  `ten a second beyond that`,
  `${whole(parked.deliveries)} parked deliveries with ${parked.bodyBytes / 1_024} KiB of body each`,
  `${whole(parked.deliveries / 2)} of them are kept for those`,
  `what is unused of five seconds`,
])('the page of shares says "%s", as the code does', (words) => {
  expect(page).toContain(words);
});

it('the page gives the shares in words as the code has them', () => {
  expect([account.waitingPerSecond, unprovenReads]).toEqual([10, { ofBudget: 0.1, burstMs: 5_000 }]);
});
