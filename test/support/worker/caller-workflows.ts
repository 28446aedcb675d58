import { createNexusServiceClient } from '@temporalio/workflow';
import { rides } from '../../../examples/nexus/rides.js';
import { failureTypeOf } from '../../../src/client/in-workflow.js';

// The examples are tested as they are.
export { checkout } from '../../../examples/checkout/checkout.js';

/** What a caller's workflow sees of one operation. */
export interface Seen {
  answer?: unknown;
  type?: string | undefined;
}

/** One operation of the Nexus example, with any input. */
export async function ask(endpoint: string, operation: keyof typeof rides.operations, input: unknown): Promise<Seen> {
  const service = createNexusServiceClient({ service: rides, endpoint });
  try {
    return { answer: await service.executeOperation(operation, input as never, { scheduleToCloseTimeout: 40_000 }) };
  } catch (error) {
    return { type: failureTypeOf(error) ?? String(error) };
  }
}
