import { describe, expect, it } from 'vitest';
import { type OperationName, tokenEncodings } from '../../src/contracts/contract-profile.js';
import { parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { toScope } from '../../src/domain/keys.js';
import { operationRequest } from '../../src/ride-api/operation-request.js';
import { tokenRequest } from '../../src/ride-api/token.js';
import { version } from '../../src/version.js';
import { runHere } from '../cli/fake-process.js';
import { workerEnv } from '../support/accounts.js';
import { businessAccount, partnerAccount } from './accounts.js';
import { answerJson, httpClient, serve } from './loopback-server.js';

const managing = { operations: { listSubscribers: { enabled: true }, deleteSubscriber: { enabled: true } } };
const profile = parseContractProfile(managing);
const period = { since: '2026-03-01T00:00:00Z', to: '2026-04-01T00:00:00Z', limit: '50', offset: '0' };
const values = { order_id: '1', reference_field_id: '2', id: '3', ...period };

/** A gateway as some are: without these headers it lets nothing through. */
async function gateway() {
  const refused: string[] = [];
  const passed: string[] = [];
  const url = await serve((request, response) => {
    const { 'user-agent': agent = '', accept = '' } = request.headers;
    const isNamed = agent === `faretrail/${version}` && accept === 'application/json';
    (isNamed ? passed : refused).push(`${request.method} ${request.url}`);
    answerJson(response, isNamed ? 404 : 403, {});
  });
  return { url, refused, passed };
}

describe('a gateway that refuses requests without User-Agent or Accept', () => {
  it.each(Object.keys(profile.operations) as OperationName[])('lets %s through', async (operation) => {
    const { url, refused, passed } = await gateway();
    const at = profile.operations[operation].interface;
    const account = at === 'partner' ? partnerAccount(url) : businessAccount(url);
    await httpClient().send(operationRequest(account, { operation, values, accessToken: 't' }, profile));
    expect({ refused, passed: passed.length }).toEqual({ refused: [], passed: 1 });
  });

  it.each(tokenEncodings)('lets token requests through, as %s', async (businessEncoding) => {
    const { url, refused, passed } = await gateway();
    const encoded = parseContractProfile({ tokens: { businessEncoding } });
    const http = httpClient();
    for (const account of [partnerAccount(url), businessAccount(url, url)])
      await http.send(tokenRequest(account, toScope('order'), encoded));
    expect({ refused, passed: passed.length }).toEqual({ refused: [], passed: 2 });
  });

  it('lets `probe` through', async () => {
    const { url, refused, passed } = await gateway();
    await runHere(['probe', 'business'], workerEnv(url));
    expect(refused).toEqual([]);
    expect(passed.length).toBeGreaterThan(0);
  });
});
