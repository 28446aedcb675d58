import { TestWorkflowEnvironment } from '@temporalio/testing';
import { inject } from 'vitest';

const attempts = 5;

/** A server that skips time. The SDK gives it 5 s to start, in which a Java program may not start on a busy machine. */
export async function startTimeSkippingServer(): Promise<TestWorkflowEnvironment> {
  const executable = { type: 'existing-path' as const, path: inject('timeSkippingServerPath') };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({ server: { executable } });
    } catch (error) {
      if (attempt === attempts || !String(error).includes('did not start within')) throw error;
    }
  }
}
