import { randomBytes } from 'node:crypto';
import { base64url, decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT } from 'jose';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createCookies, newViewer } from '../../src/desk/access.js';
import { createLogin, nameIn, rightsIn } from '../../src/desk/login.js';
import { createNamedKey, type KeyRing } from '../../src/sealing/key-ring.js';
import type { DeskLogin } from '../../src/settings/desk.js';
import { clientId, clientSecret, signInAt, useProvider } from './provider.js';
import { attention, createBrowser, openDesk, orderChange, useDesk } from './scene.js';

const provider = useProvider();
const roles = (['view', 'act', 'personal'] as const).map((right) => ({ right, role: right }));
const login = (): DeskLogin => ({ issuer: provider.issuer, clientId, clientSecret, rolesClaim: 'roles', roles });
const keys: KeyRing = [createNamedKey('k1', randomBytes(32))];
const desk = useDesk(() => ({ login: login(), keys }));

beforeAll(async () => {
  provider.register(desk.origin);
  await desk.store.record(orderChange('7b21', 1, { reference: 'Anna Berg' }));
  const late = attention('latePickup', 'Anna Berg waits');
  await desk.store.record(orderChange('7b21', 2, { reference: 'Anna Berg', attention: late }));
});

async function signIn(who: string, path = '/orders/business/7b21') {
  const browser = createBrowser(desk.origin);
  const sent = await browser.send(path);
  expect(sent.status).toBe(303);
  const back = await signInAt(sent.headers.get('location') ?? '', who);
  return { browser, back, answer: await browser.send(back) };
}

describe('beyond the loopback address', () => {
  it('a person signs in at the provider, and comes to the page that was asked for', async () => {
    const { browser, answer } = await signIn('anna.view.act.personal');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/orders/business/7b21']);
    const page = await browser.get('/orders/business/7b21');
    for (const part of ['Anna Berg', 'Anna Berg waits', 'Read now', 'name of anna.view.act.personal'])
      expect(page).toContain(part);
  });

  it('who may only look sees no button, no reference and no message, and finds nobody by a reference', async () => {
    const { browser } = await signIn('ben.view');
    for (const path of ['/', '/orders', '/orders/business/7b21']) {
      const page = await browser.get(path);
      expect(page).toContain('7b21');
      expect(page).not.toMatch(/Anna|Read now/);
    }
    const found = await browser.press('/', '/search', { text: 'anna' });
    expect([found.status, await found.text()]).toEqual([200, expect.stringContaining('No order fits')]);
    const pressed = await browser.press('/', '/orders/business/7b21/stop', { reason: 'x' });
    expect([pressed.status, await pressed.text()]).toEqual([403, expect.stringContaining('press no buttons')]);
  });

  it('who has no role sees nothing but the way out', async () => {
    const { browser } = await signIn('cleo.driver');
    expect(await browser.send('/')).toMatchObject({ status: 403 });
    expect(await browser.send('/live')).toMatchObject({ status: 403 });
  });

  it('nobody gets in without a sign-in, or by one that another browser has begun', async () => {
    const stranger = createBrowser(desk.origin);
    expect((await stranger.send('/live')).status).toBe(401);
    const begun = await createBrowser(desk.origin).send('/');
    const back = await signInAt(begun.headers.get('location') ?? '', 'eve.view.act');
    expect((await stranger.send(back)).status).toBe(400);
    await stranger.send('/'); // begins one of its own
    expect((await stranger.send(back)).status).toBe(400);
    expect(stranger.jar.has('desk-session')).toBe(false);
  });

  it('a sign-in leaves nothing of what the browser had before', async () => {
    const browser = createBrowser(desk.origin);
    const planted = (await signIn('eve.view')).browser.jar.get('desk-session') ?? '';
    const begun = await browser.send('/');
    browser.jar.set('desk-session', planted);
    await browser.send(await signInAt(begun.headers.get('location') ?? '', 'anna.view'));
    expect(browser.jar.get('desk-session')).not.toBe(planted);
    expect(await browser.get('/')).toContain('anna.view');
    for (const forged of ['forged', `${planted.slice(0, -4)}AAAA`]) {
      browser.jar.set('desk-session', forged);
      expect((await browser.send('/')).status).toBe(303);
    }
  });

  it('a sign-out ends the session in this browser, and the provider has a page to sign out, too', async () => {
    const { browser } = await signIn('anna.view');
    const out = await browser.press('/', '/logout');
    expect([out.status, await out.text()]).toEqual([200, expect.stringContaining('/session/end')]);
    expect(browser.jar.has('desk-session')).toBe(false);
  });

  it('leads to no other site afterwards', async () => {
    for (const path of ['//attacker.example/', '/%5Cattacker.example/'])
      expect((await createBrowser(desk.origin).send(path)).status).toBe(404);
  });

  it('writes no secret, code or reference into its log', () => {
    const log = JSON.stringify(desk.logged);
    expect(log).toContain('signed in');
    expect(log).not.toMatch(/a-secret-of-the-desk|code=|Anna Berg/);
  });
});

/** A part of a token. */
const encoded = (part: object): string => base64url.encode(JSON.stringify(part));
const byAnotherKey = async (idToken: string, more: object = {}) => {
  const { privateKey } = await generateKeyPair('RS256');
  const header = { alg: 'RS256', kid: decodeProtectedHeader(idToken).kid ?? '' };
  return await new SignJWT({ ...decodeJwt(idToken), ...more }).setProtectedHeader(header).sign(privateKey);
};

it.each<[string, (idToken: string) => string | Promise<string>]>([
  ['signed by another key', (idToken) => byAnotherKey(idToken, { roles: ['view', 'act'] })],
  ['of another issuer', (idToken) => byAnotherKey(idToken, { iss: 'https://login.example.com' })],
  ['without a signature', (idToken) => idToken.replace(/[^.]+$/, '')],
  ['altered', (idToken) => idToken.replace(/\.[^.]+\./, `.${encoded({ ...decodeJwt(idToken), roles: ['view'] })}.`)],
  ['with the algorithm none', (idToken) => `${encoded({ alg: 'none' })}.${encoded(decodeJwt(idToken))}.`],
  [
    'signed with the secret of the client',
    (idToken) =>
      new SignJWT(decodeJwt(idToken)).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(clientSecret)),
  ],
])('an ID token %s signs nobody in', async (_, forge) => {
  provider.forge = forge;
  onTestFinished(() => {
    provider.forge = null;
  });
  const { browser, answer } = await signIn('eve.view.act');
  expect(answer.status).toBe(400);
  expect(browser.jar.has('desk-session')).toBe(false);
});

it('a session of another desk with the same keys opens nothing', async () => {
  const viewer = newViewer('eve', ['view', 'act']);
  const made = async (settings: DeskLogin, origin: string) => {
    const cookies = createCookies({ keys, url: null, login: settings }, () => origin);
    return /=([^;]+)/.exec(await cookies.set('session', viewer, 60_000))?.[1] ?? '';
  };
  const local = await openDesk(desk.store, { keys });
  onTestFinished(() => local.close());
  const guest = createBrowser(local.origin);
  await guest.send('/'); // whoever comes has all rights there
  const statusWith = async (session: string) => {
    const browser = createBrowser(desk.origin);
    browser.jar.set('desk-session', session);
    return (await browser.send('/')).status;
  };
  expect(await statusWith(await made(login(), desk.origin))).toBe(200);
  expect(await statusWith(guest.jar.get('desk-session') ?? '')).toBe(303);
  expect(await statusWith(await made({ ...login(), clientId: 'another' }, desk.origin))).toBe(303);
  expect(await statusWith(await made({ ...login(), issuer: 'https://login.example.com' }, desk.origin))).toBe(303);
  expect(await statusWith(await made(login(), local.origin))).toBe(303);
});

it('a provider that does not answer is asked again with the next sign-in', async () => {
  const away = createLogin(
    { ...login(), issuer: 'http://127.0.0.1:1' },
    () => desk.origin,
    createCookies({ keys: null, url: null, login: login() }, () => desk.origin),
  );
  await expect(away.begin('/')).rejects.toThrow();
  await expect(away.begin('/')).rejects.toThrow();
});

const settingsOf = (rolesClaim: string) => ({ ...({} as DeskLogin), rolesClaim, roles });

it.each<[string, Record<string, unknown>, string[]]>([
  ['roles', { roles: ['act'] }, ['act', 'view']],
  ['roles', { roles: 'view' }, ['view']],
  ['roles', { roles: ['viewer', 'ACT'] }, []],
  ['roles', { roles: { act: true } }, []],
  ['roles', {}, []],
  ['realm_access.roles', { realm_access: { roles: ['personal'] } }, ['personal', 'view']],
  ['https://rides.example/roles', { 'https://rides.example/roles': ['view'] }, ['view']],
])('the claim %s of %j gives %j', (claim, claims, rights) => {
  expect(rightsIn(claims, settingsOf(claim))).toEqual(rights);
});

it.each([
  [{ sub: '42', preferred_username: 'anna' }, '42 (anna)'],
  [{ sub: '42', email: 'a@example.com' }, '42 (a@example.com)'],
  [{ sub: '42', name: '42' }, '42'],
  [{ sub: '666', preferred_username: '42 (anna)' }, '666 (42 (anna))'],
  [{ sub: '42', preferred_username: 'a\nb' }, '42 (ab)'],
  [{ sub: '42', preferred_username: '\u202e)7(\u200banna\u3164\u2066' }, '42 ()7(anna)'],
  [{ sub: '42', preferred_username: '\u200b' }, '42'],
  [{ sub: '4\u200b2' }, '4\\u{200b}2'],
  [{ sub: '42', preferred_username: 'x'.repeat(200) }, `42 (${'x'.repeat(60)})`],
])('%j is kept as %s', (claims, who) => expect(nameIn(claims)).toBe(who));
