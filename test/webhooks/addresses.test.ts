import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { createAddresses } from '../../src/webhooks/addresses.js';
import { forAny } from '../support/for-any.js';
import { account, aStand } from './ingress-stand.js';

const accounts = [{ name: account }];

/** An allowance for each address, on a clock of the test. Takes one delivery at this generation. */
function anAllowance(perSecond: number, now: () => number) {
  const readCapability = (_key: unknown, capability: string) => capability.split('.')[0];
  const addresses = createAddresses({ accounts, readCapability, perSecond, monotonic: now });
  return (generation = 'g1') => {
    const address = addresses.find(account, 'status_changed', `${generation}.mac`) ?? expect.fail('no address');
    return addresses.reserve(address, 1).isPaid;
  };
}

const about = (orderId: string) =>
  JSON.stringify({ event_type: 'status_changed', order_id: orderId, status: 'Driving' });

it('an address that sends too much gets 429 with Retry-After, nothing refused was acknowledged, and others go on', async () => {
  const stand = await aStand({ perSecond: 1 });
  const replies = await Promise.all(Array.from({ length: 80 }, (_, n) => stand.post(about(`${n}`))));
  const taken = replies.filter(({ status }) => status === 202);
  expect(taken.length).toBeGreaterThanOrEqual(60);
  expect(taken.length).toBeLessThan(70);
  expect(stand.store.deliveries.length).toBe(taken.length);
  const refused = replies.filter(({ status }) => status !== 202);
  const problem = { status: 429, type: 'application/problem+json; charset=utf-8', retryAfter: '10' };
  for (const reply of refused) expect(reply).toMatchObject(problem);
  const told = stand.facts.filter(({ outcome }) => outcome === 'tooMany');
  expect(told).toEqual(refused.map(() => expect.objectContaining({ account, eventType: 'status_changed' })));
  const large = { method: 'POST', body: 'x'.repeat(300_000) };
  expect((await fetch(stand.addressOf(), large)).headers.get('retry-after')).toBe('10');
  const report = await stand.post(about('1'), { address: stand.addressOf('g1', 'business_report') });
  expect(report.status, 'another address of the account').toBe(202);
});

it('whatever the pace, an address gets its rate and a minute of it at once, and never less than that', () => {
  const steps = fc.array(fc.nat({ max: 5_000 }), { minLength: 1, maxLength: 300 });
  forAny(fc.tuple(fc.integer({ min: 1, max: 50 }), steps), ([perSecond, pauses]) => {
    let now = 0;
    const take = anAllowance(perSecond, () => now);
    let taken = 0;
    let room = 60 * perSecond;
    for (const pause of pauses) {
      now += pause;
      room = Math.min(60 * perSecond, room + (pause / 1_000) * perSecond);
      for (let sent = 0; sent < 100; sent += 1) {
        if (take()) {
          taken += 1;
          room -= 1;
        } else expect(room, 'a refusal although there was room').toBeLessThan(1.001);
      }
      expect(room).toBeGreaterThan(-0.001);
    }
    expect(taken).toBeLessThanOrEqual(60 * perSecond + (now / 1_000) * perSecond + 1);
  });
});

it('the address that a rotation makes does not inherit what a stranger sends to the former one', () => {
  const take = anAllowance(1, () => 0);
  while (take());
  expect([take('g1'), take('g2')]).toEqual([false, true]);
});

it('the ingress computes the mac of an address once, and that of a wrong path each time', () => {
  const readCapability = vi.fn((_: object, text: string) => (text === 'g1.right' ? 'g1' : undefined));
  const { find } = createAddresses({ accounts, readCapability, perSecond: null });
  const read = (text: string) => find(account, 'status_changed', text)?.generation;
  expect(['g1.right', 'g1.wrong', 'g1.right', 'g1.wrong'].map(read)).toEqual(['g1', undefined, 'g1', undefined]);
  expect(readCapability).toHaveBeenCalledTimes(3);
});
