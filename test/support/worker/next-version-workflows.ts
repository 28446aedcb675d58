import { sleep } from '@temporalio/workflow';
import { followOrder as today } from '../../../src/workflows/order/follow-order.js';

// All workflows, with a change of `followOrder` that no run of today can be replayed on: it waits first.
export * from '../../../src/workflows/index.js';

export const followOrder: typeof today = async (input, progress) => {
  await sleep(1);
  return today(input, progress);
};
