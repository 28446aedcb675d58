import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Twenty seconds and more each, most of it waiting; the longest first. Before them the one that lists what needs a person: a list waits
 * eight seconds for each that other tests have left without a worker.
 */
const longest = [
  'e2e/commands',
  'replay/replay',
  'e2e/order/messages',
  'e2e/ride/stored',
  'processes/fleet',
  'e2e/operator/rides',
  'e2e/operator/orders',
  'processes/encrypted-payloads',
  'processes/watch-outage',
  'processes/watches',
  'workflows/production-cadence',
  'workflows/attention',
  'e2e/ride/request',
  'e2e/ride/outcome-unknown',
  'e2e/worker/workers',
  'e2e/subscription/resets',
  'e2e/erase',
  'processes/account-groups',
  'processes/secrets',
  'e2e/notify/urls',
  'processes/ingress',
  'e2e/wrong-profile',
  'e2e/hostile/messages',
  'e2e/subscription/silence',
  'processes/cli',
  'processes/small-heap',
  'processes/budget',
  'processes/partitions',
  'processes/leaked-address',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const index = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return index < 0 ? longest.length : index;
};

/**
 * On a fresh clone vitest begins with the largest files, and the longest tests are short texts: they would be left for
 * the end, where one of them runs beside nothing.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
