import type { Client } from '@temporalio/client';

/** The ids of all deliveries in the histories of these business orders, each as often as it came. */
export async function arrivedAt(client: Client, orderIds: readonly string[]): Promise<string[]> {
  const perOrder = await Promise.all(orderIds.map((orderId) => arrivedAtOne(client, orderId)));
  return perOrder.flat();
}

async function arrivedAtOne(client: Client, orderId: string): Promise<string[]> {
  const { events } = await client.workflow.getHandle(`order/business/${orderId}`).fetchHistory();
  return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) => {
    if (signal?.signalName !== 'deliveryReceived') return [];
    const [payload] = signal.input?.payloads ?? [];
    const { deliveries } = JSON.parse(Buffer.from(payload?.data ?? '').toString()) as {
      deliveries: { deliveryId: string }[];
    };
    return deliveries.map(({ deliveryId }) => deliveryId);
  });
}
