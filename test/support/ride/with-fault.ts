import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import type { Fault, FaultInput } from '../../../dev/sandbox/faults.js';
import type { OperationName } from '../../../dev/sandbox/operations.js';
import { inMs, newRide } from '../../dev/sandbox/booking-calls.js';
import { Refusal, type RideKey, type WayIn } from '../order/ways-in.js';
import type { Lane } from './lanes.js';
import { lifeOf } from './rides.js';

/** The calls that a ride makes. */
export const rideOperations = [
  'businessToken',
  'createOrder',
  'orderDetails',
  'updateOrder',
  'cancelOrder',
  'orderReceipt',
] as const satisfies OperationName[];
export type RideOperation = (typeof rideOperations)[number];

const onEffect = <K extends Fault['kind']>(kind: K) => [{ kind }, { kind, when: 'answer' }] as FaultInput[];
const onShapes = <K extends Fault['kind']>(kind: K) => [{ kind }, { kind, shape: 'envelope' }] as FaultInput[];

/** Every fault of the sandbox, in all its forms; a new kind does not compile until it has a row. */
export const faultForms: Record<Fault['kind'], readonly FaultInput[]> = {
  unauthorized: [{ kind: 'unauthorized' }],
  forbidden: [{ kind: 'forbidden' }],
  notFound: [{ kind: 'notFound' }],
  serverError: onEffect('serverError'),
  tooManyRequests: [
    { kind: 'tooManyRequests' },
    { kind: 'tooManyRequests', retryAfterSeconds: 1 },
    { kind: 'tooManyRequests', retryAfterSeconds: 2, retryAfterAs: 'date' },
  ],
  unavailable: onEffect('unavailable'),
  slow: [{ kind: 'slow', delayMs: 3_000 }],
  slowBody: [{ kind: 'slowBody', durationMs: 2_000 }],
  dropConnection: [...onEffect('dropConnection'), { kind: 'dropConnection', when: 'middle' }],
  malformedJson: [{ kind: 'malformedJson' }],
  hugeJson: [{ kind: 'hugeJson', bytes: 3_000_000 }],
  emptyBody: [{ kind: 'emptyBody' }],
  html: onEffect('html'),
  redirect: [{ kind: 'redirect' }],
  errorInSuccess: [{ kind: 'errorInSuccess' }],
  reply: [
    { kind: 'reply', status: 409, body: { status: 'error', error: { code: 'CONFLICT' } } },
    { kind: 'reply', status: 200, body: {}, when: 'answer' },
    { kind: 'reply', status: 202, body: [1], when: 'answer' },
    { kind: 'reply', status: 502, body: 'bad gateway', when: 'answer' },
  ],
  tokenAnswer: [
    { kind: 'tokenAnswer', without: ['access_token'] },
    { kind: 'tokenAnswer', without: ['token_type', 'scope', 'expires_in'] },
    { kind: 'tokenAnswer', with: { token_type: 'mac' } },
  ],
  subscriberAnswer: [], // no ride subscribes
  invalidClient: onShapes('invalidClient'),
  invalidScope: onShapes('invalidScope'),
  invalidGrant: onShapes('invalidGrant'),
};

const onlyOfTokens: readonly Fault['kind'][] = ['tokenAnswer', 'invalidClient', 'invalidScope', 'invalidGrant'];

/** Can this fault hit this call? */
export const hits = (kind: Fault['kind'], operation: RideOperation): boolean =>
  operation === 'businessToken' || !onlyOfTokens.includes(kind);

/** Where a caller has to see that a call was made for nothing, and asks again. */
const finalCodes = ['Refused', 'Forbidden', 'OrderNotFound', 'CredentialsRejected', 'Unavailable', 'NoAnswer'];

/**
 * Asks, and once more when it was refused for good: one fault spoils one answer. Rejected credentials rest for a minute, and
 * on a busy machine an answer may come too late.
 */
async function insist<T>(ask: () => Promise<T>): Promise<T> {
  for (let asked = 1; ; asked += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Refusal) || !finalCodes.includes(error.code)) throw error;
      const mayPass = ['CredentialsRejected', 'NoAnswer'].includes(error.code) && asked < 20;
      if (asked > 1 && !mayPass) throw error;
      if (mayPass) await sleep(5_000);
    }
  }
}

/** Waits for a condition, and no longer than there is a reason to. */
const until = (what: string, isSo: () => boolean | Promise<boolean>, interval = 100): Promise<void> =>
  vi.waitFor(async () => expect(await isSo(), `waited for ${what}`).toBe(true), { timeout: 200_000, interval });

/** Orders a ride and waits until the service has it. */
async function order({ account, sandbox }: Lane, way: WayIn) {
  const before = sandbox.createdOrders().length;
  const made = () => sandbox.createdOrders().slice(before);
  const key: RideKey = { account, requestId: randomUUID() };
  const end = way.ride({ ...key, order: newRide({ scheduled_at: inMs(7_200_000) }), receipt: true });
  let failure: unknown;
  end.catch((error: unknown) => {
    failure = error;
  });
  await until('an order', () => made().length > 0 || failure !== undefined);
  if (failure !== undefined) throw failure;
  return { key, end, orderId: made()[0]?.orderId ?? '' };
}

/**
 * A ride through one way in, with one fault at one of its calls: ordered, changed, followed, ended and its receipt read.
 * Throws where anything of that is not so, or where more than one order was made.
 */
export async function rideWithFault(lane: Lane, way: WayIn, fault: FaultInput, isCancelled: boolean): Promise<void> {
  const { sandbox } = lane;
  sandbox.clearFaults();
  sandbox.resetLedger();
  sandbox.setRideSettings({ script: lifeOf(['Pending', 'Reserved'], 300), receiptChangesAfterMs: null });
  const before = sandbox.createdOrders().length;
  sandbox.setFault({ ...fault, times: 1 });
  const { key, end, orderId } = await insist(() => order(lane, way));
  end.catch(() => undefined); // awaited below
  const isReserved = async () => (await way.status(key, orderId).catch(() => null)) === 'Reserved';
  await until('Reserved', isReserved, 750); // asking costs a connection or a run
  await insist(() => way.change(key, { note_to_driver: 'blue door' }));
  if (isCancelled) await insist(() => way.cancel(key));
  else sandbox.setStatus('business', orderId, 'Completed');
  const total = isCancelled ? '5.50' : '22.00';
  expect(await end).toMatchObject({
    orderId,
    outcome: isCancelled ? 'cancelled' : 'completed',
    receipt: { payment_summary: { total_inc_tax: total } },
  });
  expect(sandbox.createdOrders().slice(before)).toMatchObject([{ orderId, order: { note_to_driver: 'blue door' } }]);
  expect(
    sandbox.ledger().filter((call) => call.fault === fault.kind),
    'calls that the fault hit',
  ).toHaveLength(1);
}
