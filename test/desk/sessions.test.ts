import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { clientId, clientSecret, signInAt, useProvider } from './provider.js';
import { createBrowser, openDesk, orderChange, useDesk } from './scene.js';

const provider = useProvider();
const roles = (['view', 'act', 'personal'] as const).map((right) => ({ right, role: right }));
const login = () => ({ issuer: provider.issuer, clientId, clientSecret, rolesClaim: 'roles', roles });
const desk = useDesk(() => ({ login: login() }));
const order = '/orders/business/7b21';
type Browser = ReturnType<typeof createBrowser>;

beforeAll(async () => {
  provider.register(desk.origin);
  await desk.store.record(orderChange('7b21', 1, { reference: 'Anna Berg' }));
});
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

const minutesLater = (minutes: number) => vi.setSystemTime(Date.now() + minutes * 60_000);

/** Comes back from the provider, to which an answer of the desk leads. */
async function comeBack(browser: Browser, sent: Response, who: string): Promise<Response> {
  expect(sent.headers.get('location')).toContain(provider.issuer);
  return await browser.send(await signInAt(sent.headers.get('location') ?? '', who));
}

async function signedIn(who = 'anna.view.act.personal'): Promise<Browser> {
  const browser = createBrowser(desk.origin);
  await comeBack(browser, await browser.send('/'), who);
  return browser;
}

/** Reads what comes to a live page, to its end. */
async function listen(browser: Browser) {
  const { body } = await browser.send('/live');
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  await reader?.read();
  return {
    async rest() {
      let text = '';
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value;
      return text;
    },
  };
}

const csrfIn = (page: string): string => /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
const formOf = (fields: Record<string, string>, headers: Record<string, string> = {}): RequestInit => ({
  ...{ method: 'POST', body: new URLSearchParams(fields), headers },
});

describe('a session', () => {
  it('lasts 15 minutes, also for a copy of its cookie after a sign-out; then the provider is asked again', async () => {
    const browser = await signedIn();
    const copy = createBrowser(desk.origin);
    copy.jar.set('desk-session', browser.jar.get('desk-session') ?? '');
    await browser.press('/', '/logout');
    expect((await browser.send('/')).status).toBe(303);
    minutesLater(14.9);
    const renewed = await copy.send('/');
    expect([renewed.status, renewed.headers.getSetCookie()]).toEqual([200, []]);
    minutesLater(0.2);
    expect((await copy.send('/live')).status).toBe(401);
    expect((await copy.send('/', { headers: { 'sec-fetch-dest': 'empty' } })).status).toBe(401);
    const back = await comeBack(copy, await copy.send(order), 'anna.view');
    expect(back.headers.get('location')).toBe(order);
  });

  it('takes its live pages along when it ends, or is ended', async () => {
    const [late, out, other] = [await signedIn(), await signedIn(), await signedIn()];
    const pages = [await listen(out), await listen(out), await listen(other)];
    const page = await out.get('/');
    const signingOut = out.send('/logout', formOf({ csrf: csrfIn(page) }));
    expect(await pages[0]?.rest()).toContain('event: signedOut');
    expect(await pages[1]?.rest()).toContain('event: signedOut');
    expect((await signingOut).status).toBe(200);
    minutesLater(14.99);
    expect(await (await listen(late)).rest()).not.toContain('signedOut');
  });

  it('of a desk without a sign-in goes on while its pages are used, with forms that stay valid', async () => {
    const local = await openDesk(desk.store, {});
    const browser = createBrowser(local.origin);
    const first = csrfIn(await browser.get(order));
    for (let opened = 0; opened < 3; opened += 1) {
      minutesLater(10);
      expect(csrfIn(await browser.get(order))).toBe(first);
    }
    await local.close();
  });
});

describe('a form that comes after the end of its session', () => {
  const reason = 'Anna <b>waits</b> "there"';

  it('is shown again after the sign-in with what was typed, and is carried out once it is sent again', async () => {
    const browser = await signedIn();
    const csrf = csrfIn(await browser.get(order));
    minutesLater(16);
    const back = await comeBack(
      browser,
      await browser.send(`${order}/stop`, formOf({ csrf, reason })),
      'anna.view.act',
    );
    expect(back.headers.get('location')).toBe(order);
    const page = await browser.get(order);
    expect(page).toContain('nothing was sent');
    const [form = ''] = /<details class="act" id="stop" open>.*?<\/details>/s.exec(page) ?? [];
    const [, typed = ''] = /name="reason"[^>]* value="([^"]*)"/.exec(form) ?? [];
    expect(typed.replaceAll('&#34;', '"').replaceAll('&#60;', '<').replaceAll('&#62;', '>')).toBe(reason);
    expect(csrfIn(form)).not.toBe(csrf);
    expect(desk.logged.filter((line) => 'act' in line)).toEqual([]);
    expect((await browser.send(`${order}/stop`, formOf({ csrf: csrfIn(form), reason }))).status).toBe(303);
    expect(desk.logged.filter((line) => 'act' in line)).toHaveLength(1);
    expect(await browser.get(order)).not.toContain('id="stop" open');
  });

  it('keeps what was searched for out of addresses', async () => {
    const browser = await signedIn();
    minutesLater(16);
    const sent = await browser.send('/search', formOf({ csrf: 'of then', text: 'Anna Berg' }));
    expect(sent.headers.get('location')).not.toContain('Anna');
    await comeBack(browser, sent, 'anna.view');
    expect(await browser.get('/')).toContain('value="Anna Berg"');
    expect(JSON.stringify(desk.logged)).not.toContain('Anna');
  });

  it('is not taken from another site, does not lead to one, and fits into a cookie', async () => {
    const stranger = createBrowser(desk.origin);
    const foreign = { origin: 'https://attacker.example' };
    expect((await stranger.send(`${order}/stop`, formOf({ reason }, foreign))).status).toBe(403);
    expect((await stranger.send('//attacker.example/stop', formOf({ reason }))).status).toBe(404);
    expect(stranger.jar.size).toBe(0);
    const long = await stranger.send(
      `${order}/stop?${'x'.repeat(3_000)}`,
      formOf({ reason: '\u{1f600}'.repeat(1_000) }),
    );
    expect(long.headers.getSetCookie().join().length).toBeLessThan(4_096);
    await comeBack(stranger, long, 'eve.view.act');
    const page = await stranger.get(order);
    expect(page).toContain('nothing was sent');
    expect(page).not.toContain('id="stop" open');
  });

  it('is shown again without a sign-in, too', async () => {
    const local = await openDesk(desk.store, {});
    const browser = createBrowser(local.origin);
    const sent = await browser.send(`${order}/stop`, formOf({ csrf: 'of then', reason }));
    expect([sent.status, sent.headers.get('location')]).toEqual([303, order]);
    expect(await browser.get(order)).toContain('id="stop" open');
    await local.close();
  });
});

it('what anybody can cause without a session is one warning, and no error', async () => {
  const before = desk.logged.length;
  const stranger = createBrowser(desk.origin);
  for (let hit = 0; hit < 50; hit += 1) expect((await stranger.send(`/callback?code=${hit}&state=x`)).status).toBe(400);
  expect(desk.logged.slice(before)).toMatchObject([{ level: 'warn', message: 'a sign-in failed', leftOut: 0 }]);
});
