import { expect, it } from 'vitest';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { FaretrailError } from '../../src/domain/errors.js';
import { toOrderId } from '../../src/domain/keys.js';
import { createWorkerMetrics } from '../../src/observability/metrics.js';
import { countCalls, watchCalls } from '../../src/observability/watched-ride-api.js';
import { createRideApi } from '../../src/ride-api/ride-api.js';
import { businessAccount, partnerAccount } from '../ride-api/accounts.js';

const orderId = toOrderId('o1');

it('counts each call under the operation of its interface, with its outcome in camel case', async () => {
  const metrics = createWorkerMetrics();
  let outcome: Error | null = null;
  const real = createRideApi({ profile: defaultContractProfile });
  const readOrder = async () => {
    if (outcome) throw outcome;
    return { status: 'Driving', rawStatus: 'Driving', terminal: false, details: null };
  };
  const api = watchCalls({ ...real, readOrder }, countCalls(metrics));
  await api.readOrder(partnerAccount('https://a.example'), orderId, 't');
  for (const code of ['TOKEN_REJECTED', 'NO_CONNECTION', 'credentialsRejected', 'InvalidInput', null]) {
    outcome = code === null ? new Error('stopped') : new FaretrailError(code, 'no');
    await expect(api.readOrder(businessAccount('https://b.example'), orderId, 't')).rejects.toBe(outcome);
  }
  const { values } = (await metrics.registry.getSingleMetric('faretrail_upstream_calls_total')?.get()) ?? expect.fail();
  expect(values.map(({ labels: { operation, outcome } }) => `${operation} ${outcome}`)).toEqual([
    'orderStatus ok',
    'orderDetails tokenRejected',
    'orderDetails noConnection',
    'orderDetails credentialsRejected',
    'orderDetails invalidInput',
    'orderDetails aborted',
  ]);
  await api.close();
});
