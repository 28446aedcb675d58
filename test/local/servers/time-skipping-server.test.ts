import { expect, it } from 'vitest';
import { startTimeSkippingServer } from '../../support/server/time-skipping-server.js';

it('skips ten days of waiting', async () => {
  const env = await startTimeSkippingServer();
  try {
    const before = await env.currentTimeMs();
    await env.sleep('10 days');
    expect((await env.currentTimeMs()) - before).toBeGreaterThanOrEqual(10 * 86_400_000);
  } finally {
    await env.teardown();
  }
});
