import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { afterAll, beforeAll } from 'vitest';
import { createBrowser } from './scene.js';

export const clientId = 'desk';
export const clientSecret = 'a-secret-of-the-desk';

/** A certified OpenID provider, at which the desk registers once it listens. A login name is the subject, its roles the words between its dots. */
export function useProvider() {
  const found = { forge: null } as {
    issuer: string;
    register(origin: string): void;
    /** What the provider makes of each ID token before it sends it; null: nothing. */
    forge: ((idToken: string) => string | Promise<string>) | null;
  };
  let server: Server;
  beforeAll(async () => {
    server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    found.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    found.register = (origin) => {
      const provider = new Provider(found.issuer, {
        clients: [
          {
            client_id: clientId,
            client_secret: clientSecret,
            redirect_uris: [`${origin}/callback`],
            post_logout_redirect_uris: [origin],
          },
        ],
        claims: { openid: ['sub', 'roles'], profile: ['preferred_username'] },
        conformIdTokenClaims: false,
        findAccount: (_, id) => ({
          accountId: id,
          claims: () => ({ sub: id, preferred_username: `name of ${id}`, roles: id.split('.') }),
        }),
        cookies: { keys: ['of the tests'] },
      });
      const handle = provider.callback();
      server.on('request', (request, response) => {
        if (found.forge && request.url === '/token') forgeAnswer(response, found.forge);
        void handle(request, response);
      });
    };
  });
  afterAll(() => void server.close());
  return found;
}

function forgeAnswer(response: ServerResponse, forge: (idToken: string) => string | Promise<string>): void {
  const end = response.end.bind(response);
  const send = async (body: string): Promise<void> => {
    const answer = JSON.parse(body);
    const forged = JSON.stringify({ ...answer, id_token: await forge(answer.id_token) });
    response.setHeader('content-length', Buffer.byteLength(forged));
    end(forged);
  };
  response.end = (body?: unknown) => {
    void send(String(body));
    return response;
  };
}

/** Walks through the pages of the provider, and gives the way back to the desk. */
export async function signInAt(authorize: string, login: string): Promise<string> {
  const browser = createBrowser(new URL(authorize).origin);
  let at = authorize;
  for (let steps = 0; steps < 10; steps += 1) {
    const answer = await browser.send(at);
    const next = answer.headers.get('location');
    if (next) {
      at = new URL(next, at).href;
      if (new URL(at).pathname === '/callback') return at;
      continue;
    }
    const page = await answer.text();
    const [, action = ''] = /action="([^"]+)"/.exec(page) ?? [];
    const [, prompt = ''] = /name="prompt" value="([^"]+)"/.exec(page) ?? [];
    const body = new URLSearchParams({ prompt, login, password: 'any' });
    const sent = await browser.send(action, { method: 'POST', body });
    at = new URL(sent.headers.get('location') ?? '', at).href;
  }
  throw new Error('the provider leads in a circle');
}
