import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';

/** Somebody waits for the answer: what takes longer than this shows. */
const patienceMs = 60_000;

/** Carries out `act`. When it takes long, `show` is called with the instant, and with null once it has ended. */
export async function whileLong<T>(show: (since: string | null) => void, act: () => Promise<T>): Promise<T> {
  const scope = new CancellationScope();
  const since = new Date().toISOString();
  let isShown = false;
  scope
    .run(() => sleep(patienceMs, { summary: 'Show it if it takes longer' }))
    .then(() => {
      isShown = true;
      show(since);
    })
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    });
  try {
    return await act();
  } finally {
    scope.cancel();
    if (isShown) show(null);
  }
}
