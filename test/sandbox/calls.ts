import { request } from 'undici';
import { sandboxCredentials } from '../../sandbox/credentials.js';
import type { Sandbox } from '../../sandbox/sandbox.js';

/** An answer of the sandbox, read to its end. */
export interface Seen {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json: unknown;
}

type Interface = 'partner' | 'business';
type Url = Pick<Sandbox, 'url'>;

const { partner, business } = sandboxCredentials;

export const tokenPaths = { partner: '/v1/oauth/token', business: '/oauth/token' };
export const formType = 'application/x-www-form-urlencoded';

export async function call(
  method: string,
  url: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Seen> {
  const answer = await request(url, { method: method as 'GET', headers, ...(body === undefined ? {} : { body }) });
  const text = await answer.body.text();
  return { status: answer.statusCode, headers: answer.headers, text, json: toJson(text) };
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The form of a correct token request; a field set to null is left out. */
export function tokenForm(at: Interface, change: Record<string, string | null> = {}): URLSearchParams {
  const { clientId, clientSecret } = sandboxCredentials[at];
  const scope = at === 'partner' ? 'demand_partner' : 'order';
  const correct = { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials', scope };
  const fields = { ...correct, ...change };
  return new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, value]])),
  );
}

export const askToken = ({ url }: Url, at: Interface, change: Record<string, string | null> = {}): Promise<Seen> =>
  call('POST', url + tokenPaths[at], { 'content-type': formType }, tokenForm(at, change).toString());

export async function newToken(
  sandbox: Url,
  at: Interface,
  change: Record<string, string | null> = {},
): Promise<string> {
  const { json, text } = await askToken(sandbox, at, change);
  const token = (json as { access_token?: string }).access_token;
  if (token === undefined) throw new Error(`no token: ${text}`);
  return token;
}

export const readPartnerOrder = ({ url }: Url, orderId: string, token: string): Promise<Seen> =>
  call('GET', `${url}/v1/private/orders/status/${encodeURIComponent(orderId)}`, {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
  });

export const readBusinessOrder = ({ url }: Url, orderId: string, token: string): Promise<Seen> =>
  call('GET', `${url}/v1/orders/${encodeURIComponent(orderId)}?businessId=${business.businessId}`, {
    authorization: `Bearer ${token}`,
  });

export const partnerId = partner.clientId;
export const businessClientId = business.clientId;

/** The error code of an answer in the envelope. */
export const codeOf = ({ json }: Seen): unknown => (json as { error?: { code?: unknown } }).error?.code;

/** An order that stays `Routing` unless told otherwise. */
export const quietOrder = (at: Interface, orderId: string) => ({
  interface: at,
  orderId,
  script: [{ status: 'Routing', afterMs: 0 }],
});
