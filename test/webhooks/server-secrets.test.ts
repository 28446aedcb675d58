import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { accepted, aStand, type IngressStand, secretId } from './ingress-stand.js';

const statusChanged = 'subscription/business/status_changed';
const body = '{"order_id":"4711"}';
const byHeader = { mode: 'header', name: 'X-Secret' } as const;
const secret = { headers: { 'x-secret': secretId } };
const lastOutcome = (stand: IngressStand) => stand.facts.at(-1)?.outcome;

describe('a delivery whose secret must be right', () => {
  it('is accepted with it and refused without, and then nothing is stored', async () => {
    const stand = await aStand({ verification: byHeader });
    expect(await stand.post(body, secret)).toMatchObject({ status: 202 });
    expect(await stand.post(body)).toMatchObject({ status: 401 });
    expect(await stand.post('{')).toMatchObject({ status: 400 });
    expect(await stand.post(body, { headers: { 'x-secret': 'other' } })).toMatchObject({ status: 401 });
    expect(stand.store.deliveries).toHaveLength(1);
    expect(lastOutcome(stand)).toBe('wrongSecret');
  });

  it('is accepted as soon as its secret is stored, and waits with 503 before', async () => {
    const stand = await aStand({ verification: byHeader });
    const good = await accepted(stand.sealer);
    stand.memos.set(statusChanged, { accepted: [{ ...good, secrets: [] }] });
    expect(await stand.post(body, secret)).toMatchObject({ status: 503, retryAfter: expect.any(String) });
    expect(lastOutcome(stand)).toBe('noSecretYet');
    stand.memos.set(statusChanged, { accepted: [good] });
    await expect.poll(async () => (await stand.post(body, secret)).status).toBe(202);
  });

  it('is accepted by its address alone where the secret was lost', async () => {
    const stand = await aStand({ verification: byHeader });
    const good = await accepted(stand.sealer);
    stand.memos.set(statusChanged, { accepted: [{ ...good, secrets: [], isSecretLost: true }] });
    expect(await stand.post(body)).toMatchObject({ status: 202 });
    expect(lastOutcome(stand)).toBe('accepted');
  });
});

describe('an address that is over', () => {
  it('is refused with 401 when its grace is over, it was dropped, or there was never a subscription', async () => {
    const past = await accepted((await aStand()).sealer, { until: new Date(Date.now() - 1).toISOString() });
    const answers = [];
    for (const memo of [{ accepted: [past] }, { accepted: [] }, null]) {
      const other = await aStand();
      if (memo) other.memos.set(statusChanged, memo);
      else other.memos.delete(statusChanged);
      answers.push({ ...(await other.post(body)), outcome: lastOutcome(other) });
      expect(other.store.deliveries).toEqual([]);
    }
    expect(answers.map(({ outcome }) => outcome)).toEqual(['ended', 'ended', 'neverSubscribed']);
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(401);
  });
});

describe('while Temporal does not answer', () => {
  const down = new Error('down');

  it('the address alone admits a delivery, with what the later check needs', async () => {
    const stand = await aStand({ verification: byHeader, memo: down });
    expect(await stand.post(body, secret)).toMatchObject({ status: 202 });
    expect(await stand.post(body, { headers: { 'x-secret': 'wrong' } })).toMatchObject({ status: 202 });
    const [right, wrong] = stand.store.deliveries;
    expect(right).toMatchObject({ uncheckedGeneration: 'g1', orderId: '4711', sealed: expect.any(String) });
    expect(JSON.stringify(stand.store.deliveries)).not.toContain(secretId);
    if (!right || !wrong) throw new Error('two deliveries are stored');

    await expect(stand.laterCheck.check(right)).rejects.toMatchObject({ code: 'CheckNotPossibleYet' });
    stand.memos.set(statusChanged, { accepted: [await accepted(stand.sealer)] });
    const check = () => stand.laterCheck.check(right).catch(() => 'not yet');
    await expect.poll(check).toBeNull();
    expect(await stand.laterCheck.check(wrong)).toBe('wrongSecret');
  });

  it('a delivery is judged later by what was accepted when it came', async () => {
    const stand = await aStand({ memo: down });
    await stand.post(body);
    await stand.post(body, { address: stand.addressOf('g0') });
    const [current, old] = stand.store.deliveries;
    if (!current || !old) throw new Error('two deliveries are stored');
    const until = new Date(Date.parse(current.receivedAt) + 1).toISOString(); // over since
    stand.memos.set(statusChanged, { accepted: [await accepted(stand.sealer, { until })] });
    const check = () => stand.laterCheck.check(current).catch(() => 'not yet');
    await expect.poll(check).toBeNull();
    expect(await stand.laterCheck.check(old)).toBe('endedGeneration');
    stand.memos.delete(statusChanged);
    const report = { ...current, eventType: 'business_report', account: 'other' } as typeof current;
    expect(await stand.laterCheck.check(report)).toBe('neverSubscribed');
    const { uncheckedGeneration: _, ...checked } = old;
    expect(await stand.laterCheck.check(checked)).toBeNull();
  });
});

describe('in mode path', () => {
  const mac = createHmac('sha256', secretId).update(body).digest();

  it.each([
    ['a header', body, { 'x-any': secretId }, { place: 'header', at: 'x-any' }],
    ['the body', `{"order_id":"1","auth":[{"key":"${secretId}"}]}`, {}, { place: 'body', at: '/auth/0/key' }],
    ['a mac', body, { 'x-sig': mac.toString('hex') }, { place: 'hmac', at: 'x-sig', encoding: 'hex', prefix: '' }],
    ['a mac', body, { 'x-sig': `sha256=${mac.toString('base64')}` }, { encoding: 'base64', prefix: 'sha256=' }],
    ['nowhere', body, { 'x-any': 'other' }, { place: 'none', at: '' }],
    ['an odd name', `{"order_id":"1","a b":"${secretId}"}`, {}, { at: 'under a name that is not shown' }],
  ])('it the ingress reports that the secret was in %s', async (_, text, headers, sighting) => {
    const stand = await aStand();
    expect(await stand.post(text, { headers: headers as Record<string, string> })).toMatchObject({ status: 202 });
    expect(stand.sightings).toEqual([expect.objectContaining(sighting)]);
    expect(JSON.stringify(stand.sightings)).not.toContain(secretId);
  });

  it('the first 20 deliveries are looked into, then few', async () => {
    const stand = await aStand();
    for (let count = 0; count < 60; count += 1) await stand.post(body);
    expect(stand.sightings).toHaveLength(20);
  });
});
