import type { RequestListener } from 'node:http';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.js';
import { toOrderId, toScope } from '../../src/domain/keys.js';
import { newRide } from '../dev/sandbox/booking-calls.js';
import given from '../fixtures/token-replies.given.json' with { type: 'json' };
import { businessAccount, partnerAccount } from './accounts.js';
import { answerJson, httpClient, rideApi, serve, serveBytes, textOf } from './loopback-server.js';

describe('the client of the service', () => {
  it.each([
    ['urlencoded', 'application/x-www-form-urlencoded', 'client_secret=very+secret+%26+odd%2Bvalue'],
    ['multipart', 'multipart/form-data; boundary=', 'name="client_secret"\r\n\r\nvery secret & odd+value\r\n'],
    ['json', 'application/json', '"client_secret":"very secret & odd+value"'],
  ])('obtains a business token without scope with a %s body', async (businessEncoding, type, secret) => {
    let seen = '';
    const base = await serve(async (request, response) => {
      seen = `${request.url} ${request.headers['content-type']} ${await textOf(request)}`;
      answerJson(response, 200, given.unscoped);
    });
    const api = rideApi({ tokens: { businessEncoding } });
    expect(await api.requestToken(businessAccount(base, base), toScope(''))).toMatchObject({ lifetimeMs: 899_000 });
    expect(seen.startsWith(`/oauth/token ${type}`)).toBe(true);
    expect(seen).toContain(secret);
    expect(seen).toContain('client_credentials');
    expect(seen).not.toContain('scope');
  });

  it('keeps the digits of ids and money that are numbers', async () => {
    const long = '12345678901234567890';
    const order = `{"id":${long},"status":"Driving","total":12345678901234.567891}`;
    const base = await serve((_, response) => void response.writeHead(200).end(order));
    const api = rideApi({}, { keepsPersonalData: true });
    const account = businessAccount(base);
    expect(await api.readOrder(account, toOrderId(long), 't')).toMatchObject({ status: 'Driving' });
    await expect(api.readOrder(account, toOrderId('12345678901234567168'), 't')).rejects.toThrow('ORDER_MISMATCH');
    const create = { account: account.name, operation: 'createOrder', body: newRide(), requestId: 'r' } as const;
    expect(await api.callOperation(account, create, 't')).toMatchObject({
      orderId: long,
      body: { id: long, total: '12345678901234.567891' },
    });
  });

  it('passes cancellation through both of its calls', async () => {
    const reason = new Error('cancelled');
    const base = await serve(() => {});
    const api = rideApi();
    const caller = new AbortController();
    setTimeout(() => caller.abort(reason), 20);
    const results = await Promise.allSettled([
      api.readOrder(partnerAccount(base), toOrderId('1'), 't', caller.signal),
      api.requestToken(partnerAccount(base), toScope('demand_partner'), caller.signal),
    ]);
    expect(results.map((result) => result.status === 'rejected' && result.reason)).toEqual([reason, reason]);
  });
});

const clientSecret = 'Cl1entSecretOfTheTest';
const accessToken = 'Acc3ssTokenOfTheTest';
const secrets = [clientSecret, accessToken];
const unused = 'http://127.0.0.1:1'; // nothing listens there

const api = () =>
  rideApi({}, { http: httpClient({ headersMs: 50, bodyMs: 50, connectMs: 50, totalMs: 200, maxReplyBytes: 2_000 }) });

const account = (base: string): Account => ({ ...businessAccount(base, base), clientSecret });

/** All that a logger, a failure converter or a person could see of an error. */
function everythingOf(error: unknown): string {
  const seen = [inspect(error, { depth: 20, showHidden: true, getters: true }), String(error), JSON.stringify(error)];
  for (let next = error; next instanceof Error; next = next.cause) seen.push(next.message, next.stack ?? '');
  return seen.join('\n');
}

async function errorsOf(target: Account): Promise<unknown[]> {
  const client = api();
  const calls = [client.requestToken(target, toScope('order')), client.readOrder(target, toOrderId('1'), accessToken)];
  const results = await Promise.allSettled(calls);
  return results.map((result) => (result.status === 'rejected' ? result.reason : undefined));
}

function expectNoSecret(errors: unknown[]): void {
  for (const error of errors) {
    expect(error).toBeInstanceOf(Error);
    const seen = everythingOf(error);
    for (const secret of secrets) expect(seen).not.toContain(secret);
    expect(seen).not.toContain('businessId=');
  }
}

const echoes: Record<string, (secret: string) => unknown> = {
  'as the code of an RFC 6749 error': (secret) => ({ error: secret, error_description: secret }),
  'as the code of an envelope': (secret) => ({ status: 'error', error: { code: secret, message: secret } }),
  'within a code': (secret) => ({ error: `bad_${secret}` }),
  'as the request id': (secret) => ({ error: 'invalid_client', request_id: secret }),
  'as text': (secret) => secret,
};

describe('an error shows neither client secret nor token', () => {
  for (const [how, body] of Object.entries(echoes)) {
    it.each([200, 302, 400, 401, 403, 404, 429, 500])(`when upstream repeats them ${how} with %i`, async (status) => {
      const listener: RequestListener = async (request, response) => {
        const secret = request.method === 'POST' ? clientSecret : accessToken;
        await textOf(request);
        answerJson(response, status, body(secret), { 'X-Request-ID': secret, 'Retry-After': secret, Location: secret });
      };
      expectNoSecret(await errorsOf(account(await serve(listener))));
    });
  }

  it('when upstream repeats the whole request as text that is no JSON', async () => {
    const listener: RequestListener = async (request, response) => {
      const text = `${JSON.stringify(request.headers)} ${await textOf(request)}`;
      response.writeHead(200).end(text.replace('{', ''));
    };
    expectNoSecret(await errorsOf(account(await serve(listener))));
  });

  it('when upstream repeats the raw request, never answers, hangs up or cannot be reached', async () => {
    const echo = await serveBytes((socket) => void socket.pipe(socket));
    const silent = await serveBytes((socket) => void socket.resume());
    const abrupt = await serveBytes((socket) => void socket.once('data', () => socket.destroy()));
    for (const place of [`http://${echo}`, `http://${silent}`, `https://${silent}`, `http://${abrupt}`, unused]) {
      expectNoSecret(await errorsOf(account(place)));
    }
  });

  it('when the request itself cannot be made', async () => {
    const bad = `${accessToken}\r\nX: 1`;
    const sent = await api()
      .readOrder(account(unused), toOrderId('1'), bad)
      .catch((error: unknown) => error);
    expect(sent).toMatchObject({ code: 'InvalidInput' });
    expectNoSecret([sent]);
    expectNoSecret(await errorsOf(account(`http://[${clientSecret}`)));
  });
});
