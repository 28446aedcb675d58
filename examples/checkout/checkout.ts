import { ApplicationFailure, condition, proxyActivities, startChild, workflowInfo } from '@temporalio/workflow';
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
    const text = change.outcome ?? change.status ?? 'asked';
    await tellCustomer(text);
    told.push(text);
    if (change.outcome === null) continue;
    const paid = change.outcome === 'completed';
    await (paid ? capture : release)(amountMinor, currency);
    return { paid, told };
  }
}

/** Starts the following with this run to be told. A run that fails tells nobody, so its failure is watched, too. */
async function follow({ account, orderId, ridesQueue }: Pick<CheckoutInput, 'account' | 'orderId' | 'ridesQueue'>) {
  let failure: string | undefined;
  const { workflowId } = workflowInfo();
  const order = await startChild('followOrder', {
    workflowId: `order/${account}/${orderId}`,
    taskQueue: ridesQueue,
    args: [{ account, orderId, notify: [{ workflowId, signal }] }],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    parentClosePolicy: 'ABANDON', // an order goes on, whatever becomes of its checkout
  });
  void order.result().catch((error: unknown) => {
    failure = failureTypeOf(error) ?? 'NotFollowed';
  });
  return () => failure;
}
