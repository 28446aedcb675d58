import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

export const clientId = 'desk';
export const clientSecret = 'a-secret-of-the-desk';

/** A certified OpenID provider on the loopback address. A login is the subject, and its roles are the words between its dots. */
export async function startProvider(callback: string): Promise<{ issuer: string; close(): void }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [callback] }],
    claims: { openid: ['sub', 'roles'], profile: ['preferred_username'] },
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, roles: id.split('.') }),
    }),
    cookies: { keys: ['of the doors'] },
  });
  const handle = provider.callback();
  server.on('request', (request, response) => void handle(request, response));
  return { issuer, close: () => void server.close() };
}

/** Cookies of one browser, which follows no redirect. */
export function createBrowser() {
  const jars = new Map<string, Map<string, string>>();
  return async function send(url: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(url);
    const jar = jars.get(origin) ?? new Map<string, string>();
    jars.set(origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(init.headers as Record<string, string>), ...(cookie ? { cookie } : {}) };
    const answer = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      jar.set(name, value);
    }
    return answer;
  };
}

export type Browser = ReturnType<typeof createBrowser>;

/** Signs in at the desk as a person does, through the pages of the provider. */
export async function signIn(send: Browser, desk: string, login: string): Promise<void> {
  let at = `${desk}/`;
  let init: RequestInit = {};
  for (let steps = 0; steps < 15; steps += 1) {
    const answer = await send(at, init);
    init = {};
    const next = answer.headers.get('location');
    const page = await answer.text();
    if (next) at = new URL(next, at).href;
    else if (at.startsWith(desk)) return;
    else {
      const [, action = ''] = /action="([^"]+)"/.exec(page) ?? [];
      const [, prompt = ''] = /name="prompt" value="([^"]+)"/.exec(page) ?? [];
      at = new URL(action, at).href;
      init = { method: 'POST', body: new URLSearchParams({ prompt, login, password: 'any' }) };
    }
  }
  throw new Error('the sign-in leads in a circle');
}
