import { TestWorkflowEnvironment } from '@temporalio/testing';
import { expect, inject, it } from 'vitest';

it('skips ten days of waiting', async () => {
  const executable = { type: 'existing-path', path: inject('timeSkippingServerPath') } as const;
  const env = await TestWorkflowEnvironment.createTimeSkipping({ server: { executable } });
  try {
    const before = await env.currentTimeMs();
    await env.sleep('10 days');
    expect((await env.currentTimeMs()) - before).toBeGreaterThanOrEqual(10 * 86_400_000);
  } finally {
    await env.teardown();
  }
});
