import { request } from 'undici';
import { expect, onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../dev/sandbox/sandbox.js';
import { sandboxCredentials } from '../../../dev/sandbox/token/credentials.js';

/** An answer of the sandbox, read to its end. */
export interface Seen {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json: unknown;
}

type Interface = 'partner' | 'business';
type Url = Pick<Sandbox, 'url'>;

export const tokenPaths = { partner: '/v1/oauth/token', business: '/oauth/token' };
const formType = 'application/x-www-form-urlencoded';

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

/** Undefined where the text is no JSON. */
export function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Other values for the fields of a token request; a field set to null is left out. */
type TokenChange = Record<string, string | null>;

/** The form of a token request, a correct one but for the change. */
export function tokenForm(at: Interface, change: TokenChange = {}): URLSearchParams {
  const { clientId, clientSecret } = sandboxCredentials[at];
  const scope = at === 'partner' ? 'demand_partner' : 'order';
  const correct = { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials', scope };
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...correct, ...change })) if (value !== null) form.set(name, value);
  return form;
}

export const askToken = ({ url }: Url, at: Interface, change: TokenChange = {}): Promise<Seen> =>
  call('POST', url + tokenPaths[at], { 'content-type': formType }, tokenForm(at, change).toString());

export async function newToken(sandbox: Url, at: Interface, change: TokenChange = {}): Promise<string> {
  const { json, text } = await askToken(sandbox, at, change);
  return (json as { access_token?: string }).access_token ?? expect.fail(`no token: ${text}`);
}

export const readPartnerOrder = ({ url }: Url, orderId: string, token: string): Promise<Seen> =>
  call('GET', `${url}/v1/private/orders/status/${encodeURIComponent(orderId)}`, {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
  });

export const readBusinessOrder = ({ url }: Url, orderId: string, token: string): Promise<Seen> =>
  call('GET', `${url}/v1/orders/${encodeURIComponent(orderId)}?businessId=${sandboxCredentials.business.businessId}`, {
    authorization: `Bearer ${token}`,
  });

/** The error code of an answer of the business interface. */
export const codeOf = ({ json }: Seen): unknown => (json as { errors?: { code?: unknown }[] }).errors?.[0]?.code;

/** A sandbox for one test, with the quiet orders p-1 and p-2 of the partner interface and b-1 of the business interface. */
export async function sandboxOfOneTest(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  for (const orderId of ['p-1', 'p-2']) sandbox.addOrder(quietOrder('partner', orderId));
  sandbox.addOrder(quietOrder('business', 'b-1'));
  return sandbox;
}

/** An order that stays `Routing` unless told otherwise. */
export const quietOrder = (at: Interface, orderId: string) => ({
  interface: at,
  orderId,
  script: [{ status: 'Routing', afterMs: 0 }],
});
