import { randomUUID } from 'node:crypto';
import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowFailedError } from '@temporalio/client';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { toRideRequestId } from '../../../src/domain/ride/input.js';
import { followOrderId, requestRideId, subscriptionId } from '../../../src/domain/workflow-ids.js';
import { insist } from './insist.js';

const bytes = (text: string): Buffer => Buffer.from(text);
const json = { encoding: bytes('json/plain') };

/** Payloads that no converter can ever decode. A program in another language may send them. A run waits for a key that is missing, so none has one. */
export const strangePayloads = {
  garbage: { metadata: json, data: Buffer.from([0xff, 0x00, 0x7b, 0xfe]) },
  empty: { metadata: json, data: bytes('') },
  notANumber: { metadata: json, data: bytes('{"deliveries":NaN}') },
  cutShort: { metadata: json, data: bytes('{"deliveries":[') },
  noEncoding: { metadata: {}, data: bytes('{}') },
  unknownEncoding: { metadata: { encoding: bytes('binary/unheard-of') }, data: bytes('{}') },
  protobuf: { metadata: { encoding: bytes('json/protobuf'), messageType: bytes('a.B') }, data: bytes('{}') },
  deep: { metadata: json, data: bytes(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) },
  surrogates: { metadata: json, data: bytes('{"deliveries":[{"deliveryId":"\\ud800","status":"\\udfff"}]}') },
};

export type StrangePayload = keyof typeof strangePayloads;

/** The receiver and the kind of message. `token`: every lease. */
export type StrangeMessage = { payload: StrangePayload } & (
  | { to: 'order'; orderId: string; signal: 'deliveryReceived' | 'followRequested' | 'unheardOf' }
  | { to: 'ride'; requestId: string; signal: 'rideOrderChanged' | 'unheardOf' }
  | { to: 'token'; signal: 'renewToken' | 'unheardOf' }
  | { to: 'subscription'; signal: 'unheardOf' }
);

const account = toAccountName('business');

/** Sends the message once, even if the run has ended or Temporal is away. */
export async function sendStrangeMessage(client: Client, message: StrangeMessage): Promise<void> {
  const { metadata, data } = strangePayloads[message.payload];
  for (const workflowId of await receiversOf(client, message)) {
    await client.workflowService
      .signalWorkflowExecution({
        namespace: client.options.namespace,
        workflowExecution: { workflowId },
        signalName: message.signal,
        input: { payloads: [{ metadata, data }] },
        requestId: randomUUID(),
      })
      .catch(() => undefined);
  }
}

/** Starts the run of an order with an unknown field. Resolves with the run id once the run has refused the input. */
export async function startMisspelt(
  { client, taskQueue }: { client: Client; taskQueue: string },
  { at, orderId }: { at: string; orderId: string },
  until: () => number,
): Promise<string> {
  const workflowId = followOrderId({ account: toAccountName(at), orderId: toOrderId(orderId) });
  const args = [{ account: at, orderId, refrence: 'a slip' }];
  await insist(async () => {
    await client.workflow.start('followOrder', { workflowId, taskQueue, args }).catch((error: unknown) => {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    });
    await client.workflow
      .getHandle(workflowId)
      .result()
      .catch((error: unknown) => {
        if (!(error instanceof WorkflowFailedError)) throw error;
      });
  }, until);
  return workflowId;
}

async function receiversOf(client: Client, message: StrangeMessage): Promise<string[]> {
  switch (message.to) {
    case 'order':
      return [followOrderId({ account, orderId: toOrderId(message.orderId) })];
    case 'ride':
      return [requestRideId({ account, requestId: toRideRequestId(message.requestId) })];
    case 'subscription':
      return [subscriptionId({ account, eventType: 'status_changed' })];
    case 'token':
      return await tokenLeases(client).catch(() => []);
  }
}

async function tokenLeases(client: Client): Promise<string[]> {
  const query = 'WorkflowType = "accessToken" AND ExecutionStatus = "Running"';
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
  return ids;
}
