import type { Info } from '@temporalio/activity';
import { createAuthorizedCall, createQuietTimes } from '../../../src/activities/authorized-call.js';
import { createSubscriberCalls, type SubscriberCallPorts } from '../../../src/activities/subscriber-calls.js';
import { createSubscriptionActivities } from '../../../src/activities/subscription.js';
import type { TokenSource } from '../../../src/activities/token-source.js';
import type { Subscriber } from '../../../src/contracts/subscriber-reply.js';
import type { Account } from '../../../src/domain/account.js';
import type { CreateSubscriberInput, SubscribingOutcome } from '../../../src/domain/subscription/state.js';
import { businessAccount } from '../../ride-api/accounts.js';
import { start } from '../attempts.js';
import { fakeRideApi, tokensInOrder } from '../readers.js';
import { type Attempt, attemptOnce, repeatAttempts } from '../temporal.js';

export const account = businessAccount();

/** A request for a new address. */
export const request = (more: Partial<CreateSubscriberInput> = {}): CreateSubscriberInput => ({
  account: account.name,
  eventType: 'status_changed',
  generation: 'abc',
  publicUrl: 'https://rides.example',
  shown: null,
  notBefore: null,
  ...more,
});

/** Where `request` has the service deliver to. */
export const deliveryAddress = 'https://rides.example/webhooks/business/status_changed/abc.mac';

/** A subscriber at the service. */
export const subscriber = (more: Partial<Subscriber> = {}): Subscriber => ({
  id: 'sub-1',
  secretId: 'the-secret',
  deliveryAddress,
  createdAt: '2031-05-01T10:00:00.123456789Z',
  updatedAt: null,
  ...more,
});

export interface SubscribingAttempt extends Attempt<never> {
  outcome?: SubscribingOutcome;
  /** What the server keeps for the next attempt. */
  left: unknown;
}

/** The service and Temporal, as far as the activities see them. */
export interface SubscribingStage {
  now: number;
  /** What the next requests come to. The last one goes on for ever. */
  answers: (Subscriber | Error)[];
  /** Addresses that the service was asked to deliver to. */
  asked: string[];
  deleted: string[];
  listed: Subscriber[] | Error;
  activities: ReturnType<typeof createSubscriptionActivities>;
  attempt(input: CreateSubscriberInput, info?: Partial<Info>): Promise<SubscribingAttempt>;
  /** Repeats as Temporal does until the activity completes or `untilMs` have passed. */
  run(input: CreateSubscriberInput, untilMs?: number): Promise<SubscribingAttempt[]>;
}

export function createSubscribingStage({
  account: held = account,
  tokens = tokensInOrder(),
  ...parts
}: Partial<Pick<SubscriberCallPorts, 'webhooks' | 'enabled'>> & {
  account?: Account;
  tokens?: TokenSource;
} = {}): SubscribingStage {
  const accountOf = () => held;
  const now = () => stage.now;
  const rideApi = fakeRideApi({
    async createSubscriber(_account, wanted) {
      stage.asked.push(wanted.deliveryAddress);
      const next = stage.answers.length > 1 ? stage.answers.shift() : stage.answers[0];
      if (!next || next instanceof Error) throw next ?? new Error('the stage has no answer');
      return next;
    },
    async listSubscribers() {
      if (stage.listed instanceof Error) throw stage.listed;
      return stage.listed;
    },
    async deleteSubscriber(_account, id) {
      stage.deleted.push(id);
    },
  });
  const calls = createSubscriberCalls({
    account: accountOf,
    rideApi,
    call: createAuthorizedCall({ tokens, quietTimes: createQuietTimes(now), now }),
    webhooks: {
      pathOf: ({ account: name, eventType, generation }) => `/webhooks/${name}/${eventType}/${generation}.mac`,
      seal: async (secretId, context) => `sealed ${secretId.length} for ${context}`,
    },
    enabled: { list: false, delete: false },
    ...parts,
  });
  const stage: SubscribingStage = {
    now: start,
    answers: [],
    asked: [],
    deleted: [],
    listed: [],
    activities: createSubscriptionActivities({ account: accountOf, calls, now, random: () => 0 }),
    async attempt(input, info = {}) {
      const act = () => stage.activities.createSubscriber(input);
      const { seen, ...attempt } = await attemptOnce({ scheduledTimestampMs: stage.now, ...info }, act);
      const left = attempt.heartbeats.length > 0 ? attempt.heartbeats.at(-1) : info.heartbeatDetails;
      return { ...attempt, left, ...(seen && { outcome: seen }) };
    },
    run: (input, untilMs) => repeatAttempts(stage, { untilMs }, (info) => stage.attempt(input, info)),
  };
  return stage;
}
