import { createNexusServiceClient } from '@temporalio/workflow';
import * as nexus from 'nexus-rpc';

/** The operations of the example, as somebody writes them down who has read its page. */
const rides = nexus.service('Rides', {
  followOrder: nexus.operation<unknown, unknown>(),
  orderTrail: nexus.operation<unknown, unknown>(),
});

export type Operation = keyof typeof rides.operations;

/** One operation with any input; a word about what came. */
export async function ask(endpoint: string, operation: Operation, input: unknown): Promise<string> {
  const service = createNexusServiceClient({ service: rides, endpoint });
  try {
    return JSON.stringify(await service.executeOperation(operation, input, { scheduleToCloseTimeout: 4_000 }));
  } catch (error) {
    return String((error as { cause?: unknown }).cause ?? error);
  }
}
