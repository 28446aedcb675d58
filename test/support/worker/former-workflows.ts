import { sleep } from '@temporalio/workflow';

/** A followOrder of a release that began otherwise. */
export async function followOrder(): Promise<void> {
  await sleep(1);
  await sleep('1 day');
}
