import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Twenty seconds and more each, most of it waiting; the longest first. Before them the one that lists what needs a person: a list waits
 * eight seconds for each that other tests have left without a worker.
 */
const longest = [
  'e2e/commands',
  'processes/ingress',
  'processes/watches',
  'processes/small-heap',
  'processes/watch-outage',
  'processes/cli',
  'e2e/order/messages',
  'processes/encrypted-payloads',
  'processes/fleet',
  'processes/replay',
  'e2e/operator/rides',
  'e2e/ride/request',
  'e2e/erase',
  'e2e/ways-in',
  'processes/observability',
  'processes/examples',
  'e2e/hostile/messages',
  'e2e/subscription/silence',
  'e2e/worker/workers',
  'processes/ride-step-kills',
  'e2e/ride/stored',
  'e2e/ride/outcome-unknown',
  'processes/secrets',
  'processes/leaked-address',
  'e2e/token/sources',
  'e2e/operator/orders',
  'processes/ingress-kills',
  'processes/budget',
  'processes/deliveries',
  'e2e/followed-again',
  'e2e/wrong-profile',
  'e2e/company-report',
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
