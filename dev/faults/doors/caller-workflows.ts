import { createNexusServiceClient } from '@temporalio/workflow';
import { rides } from '../../../examples/nexus/rides.js';

/** One operation with any input; a word about what came. */
export async function ask(endpoint: string, operation: keyof typeof rides.operations, input: unknown): Promise<string> {
  const service = createNexusServiceClient({ service: rides, endpoint });
  try {
    const options = { scheduleToCloseTimeout: 4_000 };
    return JSON.stringify(await service.executeOperation(operation, input as never, options));
  } catch (error) {
    return String((error as { cause?: unknown }).cause ?? error);
  }
}
