import type { Info } from '@temporalio/activity';
import type { ApplicationFailure } from '@temporalio/common';
import { createAuthorizedCall, createQuietTimes } from '../../../src/activities/authorized-call.js';
import { type CallActivityPorts, createCallActivities } from '../../../src/activities/call.js';
import { parseContractProfile } from '../../../src/contracts/default-contract-profile.js';
import {
  type AttemptEnd,
  afterAttempt,
  type BusinessCallResult,
  type BusinessOperation,
  type CallFailureType,
  type CallTrouble,
  isOnlyRead,
  nothingSent,
  pauseAfterMs,
  type SentBefore,
  type ServiceCall,
} from '../../../src/domain/call.js';
import { type AccountName, toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { Quote } from '../../../src/domain/ride/quote.js';
import type { ApiReply, ApiRequest } from '../../../src/ride-api/http.js';
import { createRideApi } from '../../../src/ride-api/ride-api.js';
import { businessAccount, partnerAccount } from '../../ride-api/accounts.js';
import { nextOf, tokensInOrder } from '../service.js';
import { attemptOnce, start } from '../temporal.js';

export const newOrder = {
  category: 'transportation',
  product_id: '22222222-3333-4444-8555-666666666666',
  stops: [
    {
      type: 'origin',
      actions: [{ type: 'pick_up', user: { name: 'A. Rider', phone: '15550001111' } }],
      location: { lat: 51.5, lng: -0.12 },
    },
  ],
};

/** A call with all that its operation needs. */
export function callOf(operation: BusinessOperation, more: Partial<ServiceCall> = {}): ServiceCall {
  const orderId = toOrderId('4711');
  const parts: Partial<Record<BusinessOperation, Partial<ServiceCall>>> = {
    products: { body: { origin: { lat: 51.5, lng: -0.12 } } },
    createOrder: { body: newOrder },
    orderDetails: { orderId },
    updateOrder: { orderId, body: { note_to_driver: 'at the gate' } },
    cancelOrder: { orderId },
    addReferenceCode: { referenceFieldId: '7', body: [{ value: 'A1' }, { value: 'B2' }] },
    orderReceipt: { orderId },
  };
  const account = toAccountName('business');
  return { account, operation, requestId: 'call/business/x/1', ...parts[operation], ...more };
}

export const reply = (status: number, body?: unknown, headers = {}): ApiReply => ({ status, headers, body });
export const refusal = (status: number, code: string, message: string): ApiReply =>
  reply(status, { status: 'error', error: { code, message } });

/** Claims in memory. Temporal does not answer questions about them unless `isShown`. */
function claimsWhile(isShown: () => boolean): CallActivityPorts['claims'] {
  const claimed = new Set<string>();
  return {
    async takeAsked(_run, name) {
      if (!isShown()) throw new Error('Temporal has not recorded a claim in time');
      const isFirst = !claimed.has(name);
      claimed.add(name);
      return isFirst;
    },
  };
}

/** The service, the tokens and Temporal, as far as the activity sees them. The way to the service breaks with an Error. */
export function createCallStage(
  turns: (ApiReply | Error)[],
  overrides: unknown = {},
  { keepsPersonalData = true, stores = false } = {},
) {
  const requests: ApiRequest[] = [];
  const stage = {
    /** Runs while the service works on a request; counted from 1. */
    onRequest: (_count: number): void => undefined,
    /** What Temporal tells of the activity. */
    info: {} as Partial<Info>,
    /** Temporal does not answer questions about claims. */
    hidesClaims: false,
  };
  const left = [...turns];
  const http = {
    async send(request: ApiRequest): Promise<ApiReply> {
      request.beforeSending?.();
      requests.push(request);
      stage.onRequest(requests.length);
      return nextOf(left);
    },
    close: async () => undefined,
  };
  const tokens = tokensInOrder();
  const clock = { now: start };
  const now = () => clock.now;
  const { attemptCall } = createCallActivities({
    account: (name: AccountName) => (name === 'partner' ? partnerAccount() : businessAccount()),
    rideApi: createRideApi({ profile: parseContractProfile(overrides), http, now, keepsPersonalData }),
    call: createAuthorizedCall({ tokens, quietTimes: createQuietTimes(now), monotonic: now }),
    claims: claimsWhile(() => !stage.hidesClaims),
    stores,
    now,
    quoting: { monotonic: now },
  });

  let lastQuote: Quote | undefined; // a run hands it to the next attempt
  /** One attempt of a call: the result, or the failure as a run would see it. */
  async function change(call: ServiceCall, before: SentBefore = nothingSent, number = 1): Promise<Ended> {
    const { sent, isReadFirst } = before;
    const workflowExecution = { workflowId: 'w', runId: 'r' };
    const given = { ...call, sent, isReadFirst };
    const one = await attemptOnce({ workflowExecution, ...stage.info }, () =>
      attemptCall({ ...given, number, updateId: null, ...(lastQuote && { quote: lastQuote }) }),
    );
    lastQuote = one.seen?.quote ?? lastQuote;
    const end = one.seen ?? toEnd(given, one.failure);
    return {
      ...(end.kind === 'done' && { seen: end.result }),
      ...('trouble' in end && { failure: toFailure(end.trouble) }),
      end,
      thrown: one.failure,
    };
  }

  const attempt = (call: ServiceCall, number = 1): Promise<Ended> => change(call, nothingSent, number);

  /** Repeats as a run does, until the call has ended or `effort` milliseconds are over. */
  async function run(call: ServiceCall, first = nothingSent, effort = Number.POSITIVE_INFINITY): Promise<Ended[]> {
    const attempts: Ended[] = [];
    let before = first;
    for (;;) {
      const one = await change(call, before, attempts.length + 1);
      attempts.push(one);
      const pauseMs = Math.max(Number(one.failure?.nextRetryDelay ?? 0), pauseAfterMs(attempts.length));
      const isOver = clock.now + pauseMs >= start + effort;
      const next = afterAttempt(call, before, one.end as AttemptEnd, isOver);
      if (next.act === 'fail') one.failure = { ...next.failure, nonRetryable: true };
      if (next.act !== 'tryAgain') return attempts;
      clock.now += pauseMs;
      before = next.before;
    }
  }

  return Object.assign(stage, { requests, clock, tokens, attempt, change, run, elapsedMs: () => clock.now - start });
}

/** Temporal repeats an attempt that only reads, and no other. */
function toEnd(given: Parameters<typeof isOnlyRead>[0], failure?: ApplicationFailure): AttemptEnd {
  if (!failure || !isOnlyRead(given) || failure.nonRetryable) throw new Error('this attempt of a call never fails');
  const { type, message, nextRetryDelay } = failure;
  const trouble = { type: type as CallFailureType, message, details: [], isFinal: false };
  return { kind: 'failed', sent: 'no', trouble: { ...trouble, afterMs: Number(nextRetryDelay) } };
}

/** What became of an attempt. */
interface Ended {
  seen?: BusinessCallResult;
  failure?: Partial<Pick<ApplicationFailure, 'type' | 'message' | 'details' | 'nonRetryable' | 'nextRetryDelay'>>;
  end?: AttemptEnd;
  thrown?: ApplicationFailure | undefined;
}

const toFailure = ({ type, message, details, isFinal, afterMs }: CallTrouble): NonNullable<Ended['failure']> => ({
  ...{ type, message, details, nonRetryable: isFinal },
  ...(afterMs !== undefined && { nextRetryDelay: afterMs }),
});
