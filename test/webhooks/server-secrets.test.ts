import { expect, it } from 'vitest';
import { accepted, aStand, byMac, type IngressStand, secretId, signatureOf } from './ingress-stand.js';

const statusChanged = 'subscription/business/status_changed';
const body = '{"order_id":"4711"}';
const secret = { headers: { 'x-mac': signatureOf(body) } };
const lastOutcome = (stand: IngressStand) => stand.facts.at(-1)?.outcome;
const accept = async ({ memos, sealer }: IngressStand, over: Parameters<typeof accepted>[1] = {}) =>
  memos.set(statusChanged, { accepted: [await accepted(sealer, over)] });

it('a delivery is answered with 503 until its secret is stored, and then accepted', async () => {
  const stand = await aStand({ verification: byMac });
  await accept(stand, { secrets: [] });
  expect(await stand.post(body, secret)).toMatchObject({ status: 503, retryAfter: expect.any(String) });
  expect(lastOutcome(stand)).toBe('noSecretYet');
  await accept(stand);
  await expect.poll(async () => (await stand.post(body, secret)).status).toBe(202);
});

it('an address gets one 401 whether its grace is over, it was dropped, or there was never a subscription', async () => {
  const answers = [];
  for (const change of [
    (stand: IngressStand) => accept(stand, { until: new Date(Date.now() - 1).toISOString() }),
    (stand: IngressStand) => stand.memos.set(statusChanged, { accepted: [] }),
    (stand: IngressStand) => stand.memos.delete(statusChanged),
  ]) {
    const stand = await aStand();
    await change(stand);
    answers.push({ ...(await stand.post(body)), outcome: lastOutcome(stand) });
    expect(stand.store.deliveries).toEqual([]);
  }
  expect(answers.map(({ outcome }) => outcome)).toEqual(['ended', 'ended', 'neverSubscribed']);
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]?.status).toBe(401);
});

const memo = new Error('Temporal does not answer');
/** The first two deliveries that the ingress has stored. */
function storedBy({ store }: IngressStand) {
  const [first = expect.fail('no delivery'), second = expect.fail('one delivery')] = store.deliveries;
  return [first, second] as const;
}

it('while Temporal does not answer, the address alone admits a delivery, with what the later check needs', async () => {
  const stand = await aStand({ verification: byMac, memo });
  expect(await stand.post(body, secret)).toMatchObject({ status: 202 });
  expect(await stand.post(body, { headers: { 'x-mac': 'wrong' } })).toMatchObject({ status: 202 });
  const [right, wrong] = storedBy(stand);
  expect(right).toMatchObject({ uncheckedGeneration: 'g1', orderId: '4711', sealed: expect.any(String) });
  expect(JSON.stringify(stand.store.deliveries)).not.toContain(secretId);

  await expect(stand.laterCheck(right)).rejects.toMatchObject({ code: 'CheckNotPossibleYet' });
  await accept(stand);
  await expect.poll(() => stand.laterCheck(right).catch(() => 'not yet')).toBeNull();
  expect(await stand.laterCheck(wrong)).toBe('wrongSecret');
});

it('a delivery is judged later by what was accepted when it came', async () => {
  const stand = await aStand({ memo });
  await stand.post(body);
  await stand.post(body, { address: stand.addressOf('g0') });
  const [current, old] = storedBy(stand);
  await accept(stand, { until: new Date(Date.parse(current.receivedAt) + 1).toISOString() }); // over since
  await expect.poll(() => stand.laterCheck(current).catch(() => 'not yet')).toBeNull();
  expect(await stand.laterCheck(old)).toBe('endedGeneration');
  const report = { ...current, eventType: 'business_report', account: 'other' } as typeof current;
  expect(await stand.laterCheck(report)).toBe('neverSubscribed');
  const { uncheckedGeneration: _, ...checked } = old;
  expect(await stand.laterCheck(checked)).toBeNull();
});
