// A token endpoint of oidc-provider, with introspection (RFC 7662) and revocation (RFC 7009).
// PORT, LIFETIME (seconds) and CLIENTS ([{ id, secret, scope }]) come from the environment.
import Provider from 'oidc-provider';

const { PORT, LIFETIME, CLIENTS } = process.env;
const clients = JSON.parse(CLIENTS);

const provider = new Provider(`http://127.0.0.1:${PORT}`, {
  clients: clients.map(({ id, secret, scope }) => ({
    client_id: id,
    client_secret: secret,
    ...(scope && { scope }),
    token_endpoint_auth_method: 'client_secret_post',
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
  })),
  scopes: [...new Set(clients.flatMap(({ scope }) => scope.split(' ').filter(Boolean)))],
  ttl: { ClientCredentials: Number(LIFETIME) },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    introspection: { enabled: true, allowedPolicy: () => true },
    revocation: { enabled: true, allowedPolicy: () => true },
  },
  routes: { token: '/oauth/token', introspection: '/introspect', revocation: '/revoke' },
});
provider.listen(Number(PORT), '127.0.0.1');
