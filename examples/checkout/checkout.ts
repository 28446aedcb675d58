import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ApplicationFailure,
  condition,
  getExternalWorkflowHandle,
  proxyActivities,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { failureTypeOf, type OrderChange, onRideChange } from 'faretrail/workflow';

/** What a checkout is about: an order of a ride, and the money that is reserved for it. */
export interface CheckoutInput {
  account: string;
  orderId: string;
  amountMinor: number;
  currency: string;
  /** The queue of the workers that follow orders. */
  ridesQueue: string;
}

/** How it ended. */
export interface CheckoutResult {
  paid: boolean;
  /** What the customer was told, in order. */
  told: string[];
}

/** What a checkout does outside. */
export interface CheckoutActivities {
  tellCustomer(text: string): Promise<void>;
  capture(amountMinor: number, currency: string): Promise<void>;
  release(amountMinor: number, currency: string): Promise<void>;
}

const { tellCustomer, capture, release } = proxyActivities<CheckoutActivities>({ startToCloseTimeout: '10 seconds' });
const signal = 'orderChanged';

/** Takes the money when the ride was completed, and gives it back when it was not. */
export async function checkout({ amountMinor, currency, ...ride }: CheckoutInput): Promise<CheckoutResult> {
  const changes: OrderChange[] = [];
  onRideChange(signal, (change) => void changes.push(change));
  const failure = await follow(ride);
  const told: string[] = [];
  for (;;) {
    await condition(() => changes.length > told.length || failure() !== undefined);
    const change = changes[told.length];
    if (change === undefined) throw ApplicationFailure.nonRetryable('the order cannot be followed', failure());
    const text = change.outcome ?? change.attention?.code ?? change.status ?? 'asked';
    await tellCustomer(text);
    told.push(text);
    if (change.outcome === null) continue;
    const paid = change.outcome === 'completed';
    await (paid ? capture : release)(amountMinor, currency);
    return { paid, told };
  }
}

type Ride = Pick<CheckoutInput, 'account' | 'orderId' | 'ridesQueue'>;

/** Has the order followed, with this run as a receiver of notices. Gives why the following failed: a run that fails sends no notice. */
async function follow({ account, orderId, ridesQueue }: Ride): Promise<() => string | undefined> {
  let failure: string | undefined;
  const order = `order/${account}/${orderId}`;
  const request = { notify: [{ workflowId: workflowInfo().workflowId, signal }] };
  try {
    const run = await startChild('followOrder', {
      workflowId: order,
      taskQueue: ridesQueue,
      args: [{ account, orderId, ...request }],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY', // one that failed is followed again
      parentClosePolicy: 'ABANDON', // an order goes on, whatever becomes of its checkout
    });
    run.result().catch((error: unknown) => {
      failure = failureTypeOf(error) ?? 'NotFollowed';
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    await join(order, request);
  }
  return () => failure;
}

/** A delivery or another service has had the order followed before: this adds our run to the receivers of that one. */
async function join(order: string, request: object): Promise<void> {
  try {
    await getExternalWorkflowHandle(order).signal('followRequested', request);
  } catch {
    throw ApplicationFailure.nonRetryable('the order has ended before its checkout', 'AlreadyEnded');
  }
}
