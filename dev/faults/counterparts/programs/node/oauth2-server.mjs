// A token endpoint of @node-oauth/oauth2-server. The package judges requests and tokens; storage, introspection and revocation are
// the user's part, here as small as can be.
// PORT, LIFETIME (seconds) and CLIENTS ([{ id, secret, scope }]) come from the environment.
import { createServer } from 'node:http';
import OAuth2Server from '@node-oauth/oauth2-server';

const { PORT, LIFETIME, CLIENTS } = process.env;
const clients = JSON.parse(CLIENTS);
const tokens = new Map();

const server = new OAuth2Server({
  model: {
    getClient: async (id, secret) => {
      const found = clients.find((client) => client.id === id && client.secret === secret);
      return found && { id, scope: found.scope, grants: ['client_credentials'] };
    },
    getUserFromClient: async ({ id }) => ({ id }),
    validateScope: async (_user, { scope }, asked) =>
      (asked ?? []).every((value) => scope.split(' ').includes(value)) && (asked ?? []),
    saveToken: async (token, client, user) => {
      tokens.set(token.accessToken, { ...token, client, user });
      return tokens.get(token.accessToken);
    },
    getAccessToken: async (text) => tokens.get(text),
  },
  accessTokenLifetime: Number(LIFETIME),
});

async function answer({ method, url, headers }, fields) {
  const request = new OAuth2Server.Request({ method, headers, query: {}, body: Object.fromEntries(fields) });
  const response = new OAuth2Server.Response({ headers: {} });
  if (url === '/revoke') return { status: 200, body: { revoked: tokens.delete(fields.get('token')) } };
  if (url === '/introspect') {
    request.headers.authorization = `Bearer ${fields.get('token')}`;
    request.body = {};
    const token = await server.authenticate(request, response).catch(() => undefined);
    const about = token && { client_id: token.client.id, scope: (token.scope ?? []).join(' ') };
    return { status: 200, body: { active: token !== undefined, ...about } };
  }
  await server.token(request, response).catch(() => undefined); // the response holds the refusal
  return { status: response.status ?? 500, body: response.body };
}

createServer(async (request, reply) => {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  const answered = await answer(request, new URLSearchParams(body));
  reply.writeHead(answered.status, { 'content-type': 'application/json' }).end(JSON.stringify(answered.body));
}).listen(Number(PORT), '127.0.0.1');
