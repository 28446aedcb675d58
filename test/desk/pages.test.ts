import { request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { newViewer } from '../../src/desk/access.js';
import { createLive } from '../../src/desk/live.js';
import { ridePage } from '../../src/desk/pages/others.js';
import { createReads, type RideRow } from '../../src/desk/reads.js';
import { attention, createBrowser, orderChange, rideChange, useDesk } from './scene.js';

const desk = useDesk();
const evil = '<script>alert(1)</script>"\'<img src=x onerror=alert(2)>';
let browser: ReturnType<typeof createBrowser>;

beforeAll(async () => {
  browser = createBrowser(desk.origin);
  const late = attention('latePickup', 'The pick-up of Anna Berg was due');
  const changes = [
    orderChange('7b21', 1, { reference: 'Trip of Anna Berg' }),
    orderChange('7b21', 2, { reference: 'Trip of Anna Berg', attention: late }),
    orderChange('7b22', 3, {
      reference: evil,
      status: evil,
      rawStatus: evil,
      attention: attention('customerCare', evil),
    }),
    orderChange('a "b" & <c>?#%', 4, { reference: '100%_of it' }),
    rideChange('trip-9', { attention: attention('outcomeUnknown', 'The answer was lost') }),
    ...Array.from({ length: 120 }, (_, at) => orderChange(`many-${at}`, 100 + at, { status: 'Waiting' })),
  ];
  for (const change of changes) await desk.store.record(change);
}, 120_000);

const rowsIn = (page: string): string[] =>
  [...page.matchAll(/href="\/orders\/business\/([^"]+)"/g)].map(([, id = '']) => decodeURIComponent(id));

describe('without Temporal the desk', () => {
  it('shows what the store knows of what needs somebody, the oldest first, with the remedy, and says what is missing', async () => {
    const page = await browser.get('/');
    expect(page).toContain('Temporal does not answer, or no worker has run in its namespace yet');
    expect([...page.matchAll(/<h2><a href="([^"]+)"/g)].map(([, path]) => path)).toEqual([
      '/orders/business/7b21',
      '/orders/business/7b22',
      '/rides/business/trip-9',
    ]);
    expect(page).toContain('Check with the service if the order exists, then resolve the ride.');
  });

  it('shows an order with its timeline, and a ride that needs a decision', async () => {
    const page = await browser.get('/orders/business/7b21');
    expect(page).toContain('Temporal does not answer');
    for (const part of [
      'Driving 1',
      'Driving 2',
      'late pickup',
      'The pick-up of Anna Berg was due',
      'Trip of Anna Berg',
    ])
      expect(page).toContain(part);
    expect(await browser.get('/rides/business/trip-9')).toContain('ride.business.trip-9');
  });

  it('does not ask again about a ride that was resolved just now, before the store knows', () => {
    const ride = { account: 'business', request_id: 'trip-9', attention: 'outcomeUnknown', ended: false } as RideRow;
    const page = (isGood: boolean) =>
      ridePage({ viewer: newViewer('anna', ['view', 'act']), note: { isGood, text: 'It is' } }, ride, []);
    expect(page(false)).toContain('Was the order made?');
    expect(page(true)).not.toContain('Was the order made?');
  });

  it('offers the order that the service named in an answer to whoever decides about the ride', () => {
    const ride = { account: 'business', request_id: 'trip-9', attention: 'outcomeUnknown', ended: false } as RideRow;
    const page = (suggested: string | null) =>
      ridePage({ viewer: newViewer('anna', ['view', 'act']) }, ride, [], suggested);
    expect(page('7b21')).toContain('The service named order <code>7b21</code> in an answer.');
    expect(page('7b21')).toMatch(/name="orderId"[^>]* value="7b21"/);
    expect(page(null)).toMatch(/name="orderId"[^>]* value=""/);
    expect(page(null)).not.toContain('The service named');
    expect(page(evil)).not.toMatch(/<script>alert|<img/);
  });

  it('lists orders by their latest change, page by page, each once', async () => {
    const seen: string[] = [];
    for (let path: string | undefined = '/orders'; path; ) {
      const page = await browser.get(path);
      seen.push(...rowsIn(page));
      path = /<a href="([^"]+)" rel="next"/.exec(page)?.[1]?.replaceAll('&#61;', '=').replaceAll('&#38;', '&');
    }
    expect(seen).toHaveLength(123);
    expect(new Set(seen).size).toBe(123);
    expect(seen[0]).toBe('many-119');
    expect(rowsIn(await browser.get('/orders?status=Driving&before='))).toEqual(['a "b" & <c>?#%', '7b21']);
    expect(rowsIn(await browser.get('/orders?account=partner'))).toEqual([]);
    expect(await browser.send('/orders?account=Partner')).toMatchObject({ status: 400 });
  });

  it.each([
    ['an order id', '7b21', '/orders/business/7b21'],
    ['a reference in any case', 'trip of anna', '/orders/business/7b21'],
    ['a reference with signs of a pattern', '100%_', '/orders/business/a%20%22b%22%20%26%20%3Cc%3E%3F%23%25'],
    ['a ride', 'trip-9', '/rides/business/trip-9'],
  ])('finds by %s, and keeps the text out of addresses and logs', async (_, text, path) => {
    const answer = await browser.press('/', '/search', { text });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, path]);
    expect(await browser.send(path)).toMatchObject({ status: 200 });
    expect(JSON.stringify(desk.logged)).not.toMatch(/anna|trip/i);
  });

  it('shows several finds as a list, and none for a pattern', async () => {
    expect(rowsIn(await (await browser.press('/', '/search', { text: '7b2' })).text())).toEqual(['7b22', '7b21']);
    const none = await (await browser.press('/', '/search', { text: '%b2' })).text();
    expect(rowsIn(none)).toEqual([]);
    expect(none).toContain('value="%b2"');
  });

  it.each(['/', `/orders?status=${encodeURIComponent(evil)}`, '/orders/business/7b22'])(
    'writes no markup of others into %s',
    async (path) => {
      const page = await browser.get(path);
      expect(page).toContain('alert(1)');
      expect(page).not.toMatch(/<script>|<img|onerror=/);
    },
  );

  it('knows no order, ride or page that is not there, and no id that cannot be one', async () => {
    for (const path of ['/orders/business/none', '/rides/business/none', '/nothing'])
      expect(await browser.send(path)).toMatchObject({ status: 404 });
    expect(await browser.send('/orders/business/a%2Fb')).toMatchObject({ status: 400 });
  });
});

describe('the desk lets in nobody who', () => {
  it('comes under another name, as a page does whose name leads here', async () => {
    const answered = (host: string) =>
      new Promise((resolve) => {
        const asked = request(desk.origin, { headers: { host } }, (answer) => resolve(answer.statusCode));
        asked.end();
      });
    expect(await answered('attacker.example')).toBe(421);
    expect(await answered('127.0.0.1.attacker.example')).toBe(421);
    expect(await answered('localhost:9999')).toBe(200);
  });

  it('sends a form that the desk has not made for this browser', async () => {
    const path = '/orders/business/7b21/stop';
    const other = createBrowser(desk.origin);
    const [, foreign = ''] = /name="csrf" value="([^"]+)"/.exec(await other.get('/')) ?? [];
    const press = (fields: Record<string, string>, headers = {}) =>
      browser.press('/', path, { reason: 'x', ...fields }, headers);
    for (const csrf of ['', 'guessed', foreign]) expect((await press({ csrf })).status).toBe(403);
    expect((await press({}, { origin: 'https://attacker.example' })).status).toBe(403);
    expect((await press({}, { origin: 'null' })).status).toBe(403);
    expect((await press({}, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    const json = { method: 'POST', body: '{"reason":"x"}', headers: { 'content-type': 'application/json' } };
    expect((await browser.send(path, json)).status).toBe(400);
    expect(desk.logged.filter((line) => 'act' in line)).toEqual([]);
  });

  it('shows it within another page, runs code in it, or reads it from a cache', async () => {
    const { headers } = await browser.send('/');
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(headers.get('content-security-policy')).not.toMatch(/unsafe|\*/);
    expect(Object.fromEntries(headers)).toMatchObject({
      ...{ 'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' },
      'referrer-policy': 'same-origin',
    });
    const [cookie] = (await createBrowser(desk.origin).send('/')).headers.getSetCookie();
    expect(cookie).toMatch(/^desk-session=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=900$/);
  });
});

describe('live pages', () => {
  /** What comes until `isEnough` of the topics so far. */
  async function listen(isEnough: (topics: string[]) => boolean): Promise<string[]> {
    const topics: string[] = [];
    const { body } = await browser.send('/live');
    for await (const chunk of body ?? []) {
      const text = Buffer.from(chunk).toString();
      topics.push(...[...text.matchAll(/^data: (.+)$/gm)].flatMap(([, json = '']) => JSON.parse(json)));
      if (isEnough(topics)) break;
    }
    return topics;
  }

  it('are told by ids what has changed', async () => {
    await browser.get('/');
    const told = listen((topics) => topics.includes('order business 7b21'));
    const again = setInterval(() => {
      const notice = 1_000 + Math.floor(performance.now());
      void desk.store.record(
        orderChange('7b21', notice, { reference: 'Trip of Anna Berg', rawStatus: `at ${notice}` }),
      );
    }, 500);
    const topics = await told.finally(() => clearInterval(again));
    expect(topics).toContain('orders');
    expect(JSON.stringify(topics)).not.toContain('Anna');
  });

  it('cost the store one look a second, however many there are, and none once they are gone', async () => {
    let looks = 0;
    const reads = createReads({
      read(text, values) {
        looks += 1;
        return desk.store.read(text, values);
      },
    });
    const live = createLive(reads, async () => '');
    const gone: (() => void)[] = [];
    const response = () => ({
      ...{ write: () => true, end: () => {}, writableLength: 0 },
      on(_: string, act: () => void) {
        gone.push(act);
        return this;
      },
    });
    for (let viewer = 0; viewer < 50; viewer += 1) live.listen(response() as never, newViewer('anna', ['view']));
    const since = performance.now();
    await expect.poll(() => looks).toBeGreaterThanOrEqual(3);
    // One at once, one in progress, and one when the last viewer leaves.
    const mostLooks = (performance.now() - since) / 1_000 + 3;
    for (const leave of gone) leave();
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(looks).toBeLessThanOrEqual(mostLooks);
    const before = looks;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(looks).toBe(before);
  });
});
