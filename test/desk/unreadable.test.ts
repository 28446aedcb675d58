import { describe, expect, it } from 'vitest';
import { createBrowser, useDesk } from './scene.js';

const desk = useDesk();

/** What no browser sends for what a person has typed or clicked, already encoded. */
const unreadable = {
  NUL: 'a%00b',
  'a line feed': '7b21%0a',
  'a control character of Latin-1': '%C2%85',
  'bytes that are no UTF-8': '%FF%FE',
  'half a surrogate pair': '%ED%A0%80',
  'an overlong form': '%C0%AF',
  'half an escape': '%2',
  'a text without end': 'x'.repeat(12_000),
};
const cases = Object.entries(unreadable);

const cursor = (at: unknown, ...key: unknown[]): string =>
  Buffer.from(JSON.stringify([at, ...key])).toString('base64url');
const cursors = {
  'a date of the year 275760': cursor('+275760-09-13T00:00:00.000Z', 'business', '7b21'),
  'a date before Christ': cursor('-000044-03-15T00:00:00.000Z', 'business', '7b21'),
  'the year 0': cursor('0000-01-01T00:00:00.000Z', 'business', '7b21'),
  'a date that is of the year 10000 in UTC': cursor('9999-12-31T23:59:00-10:00', 'business', '7b21'),
  'a number for a date': cursor(8.64e15, 'business', '7b21'),
  'NUL in an id': cursor('2031-01-01T00:00:00.000Z', 'business', '\0'),
  'NUL in an account': cursor('2031-01-01T00:00:00.000Z', '\0', '7b21'),
  'no list': Buffer.from('{}').toString('base64url'),
  nonsense: 'nonsense',
};

/** Each parameter of a path in turn, with the others as they should be. */
function pathsWith(url: string, value: string): string[] {
  const good = (name: string): string => ({ account: 'business', id: '7b21' })[name] ?? 'x';
  const names = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const paths = names.map((bad) => url.replace(/:(\w+)/g, (_, name) => (name === bad ? value : good(name))));
  const plain = url.replace(/:(\w+)/g, (_, name) => good(name));
  const parameters = ['account', 'status', 'state', 'before', 'code', 'whatever'];
  return [...paths, ...parameters.map((name) => `${plain}?${name}=${value}`), `${plain}?${value}=x`];
}

describe('a request that nobody can have meant gets 400, and touches neither the store nor the log of errors:', () => {
  it.each(cases)('%s in any part of the address of any route', async (_, value) => {
    const browser = createBrowser(desk.origin);
    await browser.get('/');
    expect(desk.routes.length).toBeGreaterThan(15);
    for (const { method, url } of desk.routes)
      for (const path of pathsWith(url, value)) {
        const body = method === 'POST' ? { body: new URLSearchParams() } : {};
        const answer = await browser.send(path, { method, ...body });
        expect([method, path.slice(0, 80), answer.status]).toEqual([method, path.slice(0, 80), 400]);
      }
    expect(desk.logged).toEqual([]);
  });

  it.each(cases.slice(0, -1))('%s in any field of any form', async (_, value) => {
    const browser = createBrowser(desk.origin);
    const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(await browser.get('/')) ?? [];
    const names = ['text', 'reason', 'orderId', 'how', 'id', 'missedAt', 'account', 'eventType', 'csrf', 'whatever'];
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const { url } of desk.routes.filter(({ method }) => method === 'POST'))
      for (const name of names) {
        const [path = ''] = pathsWith(url, 'x').slice(-1);
        const body = `csrf=${csrf}&${name}=${value}`;
        const answer = await browser.send(path, { method: 'POST', body, headers });
        expect([url, name, answer.status]).toEqual([url, name, 400]);
      }
    const raw = Buffer.from([0x74, 0x65, 0x78, 0x74, 0x3d, 0xff]);
    expect((await browser.send('/search', { method: 'POST', body: raw, headers })).status).toBe(400);
    expect(desk.logged).toEqual([]);
  });

  it.each(Object.entries(cursors))('a cursor of a list that holds %s', async (_, before) => {
    expect((await createBrowser(desk.origin).send(`/orders?before=${before}`)).status).toBe(400);
    expect(desk.logged).toEqual([]);
  });

  it('a search for more than anybody can type', async () => {
    const searched = await createBrowser(desk.origin).press('/', '/search', { text: 'x'.repeat(129) });
    expect(searched.status).toBe(400);
  });
});

it('other scripts, emoji and signs stand in addresses and forms as ever', async () => {
  const browser = createBrowser(desk.origin);
  const text = 'José ✈ 🚕 مرحبا 100% +';
  expect((await browser.press('/', '/search', { text })).status).toBe(200);
  expect((await browser.send(`/orders?status=${encodeURIComponent(text)}`)).status).toBe(200);
  expect((await browser.send(`/orders/business/${encodeURIComponent(text)}`)).status).toBe(404);
});
