import { describe, expect, it, onTestFinished } from 'vitest';
import { parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { toOrderId, toScope } from '../../src/domain/keys.js';
import { createRideApi } from '../../src/ride-api/ride-api.js';
import given from '../fixtures/token-replies.given.json' with { type: 'json' };
import { businessAccount, partnerAccount } from './accounts.js';
import { answerJson, serve, textOf } from './loopback-server.js';

function rideApi(overrides = {}, now?: () => number) {
  const api = createRideApi({ profile: parseContractProfile(overrides), ...(now === undefined ? {} : { now }) });
  onTestFinished(() => api.close());
  return api;
}

describe('the client of the service', () => {
  it('obtains a token whose lifetime counts from the moment the request was sent', async () => {
    let clock = 1_000;
    const base = await serve((_, response) => {
      clock = 9_000;
      answerJson(response, 200, given.partner);
    });
    const token = await rideApi({}, () => clock).requestToken(partnerAccount(base), toScope('demand_partner'));
    const granted = { accessToken: '<ACCESS_TOKEN>', lifetimeMs: 3_600_000, grantedScope: 'demand_partner' };
    expect(token).toEqual({ ...granted, requestedAt: 1_000 });
  });

  it.each(['urlencoded', 'multipart', 'json'])('obtains a business token with a %s body', async (businessEncoding) => {
    let seen = '';
    const base = await serve(async (request, response) => {
      seen = `${request.url} ${request.headers['content-type']} ${await textOf(request)}`;
      answerJson(response, 200, given.unscoped);
    });
    const api = rideApi({ tokens: { businessEncoding } });
    expect(await api.requestToken(businessAccount(base, base), toScope(''))).toMatchObject({ grantedScope: '' });
    expect(seen).toMatch(/^\/oauth\/token (application\/(x-www-form-urlencoded|json)|multipart\/form-data; boundary)/);
    expect(seen).toContain('client_credentials');
    expect(seen).not.toContain('scope');
  });

  it('reads an order at the address of its interface', async () => {
    const asked: unknown[] = [];
    const base = await serve((request, response) => {
      asked.push(request.url, request.headers.authorization);
      answerJson(response, 200, { order: { order_id: 'a b', status: 'Completed' } });
    });
    const reading = await rideApi().readOrder(partnerAccount(base), toOrderId('a b'), 't0ken');
    expect(reading).toEqual({ rawStatus: 'Completed', status: 'Completed', terminal: true, details: null });
    expect(asked).toEqual(['/v1/private/orders/status/a%20b', 'Bearer t0ken']);
  });

  it('works below a path, as behind a gateway', async () => {
    const base = await serve((request, response) => answerJson(response, 200, { order_status: request.url }));
    const reading = await rideApi().readOrder(partnerAccount(`${base}/gateway`), toOrderId('1'), 't');
    expect(reading.rawStatus).toBe('/gateway/v1/private/orders/status/1');
  });

  const dates = { Date: 'Thu, 01 May 2031 10:00:00 GMT', 'Retry-After': 'Thu, 01 May 2031 10:00:30 GMT' };
  it.each([
    ['right', '2031-05-01T10:00:00Z'],
    ['a year ahead', '2032-05-01T10:00:00Z'],
    ['a year behind', '2030-05-01T10:00:00Z'],
  ])('waits for a Retry-After date as the service means it, where its own clock is %s', async (_, now) => {
    const base = await serve((_, response) => answerJson(response, 503, {}, dates));
    const api = rideApi({}, () => Date.parse(now));
    const failed = { code: 'UPSTREAM_FAILED', retryAfterMs: 30_000 };
    await expect(api.readOrder(partnerAccount(base), toOrderId('1'), 't')).rejects.toMatchObject(failed);
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
