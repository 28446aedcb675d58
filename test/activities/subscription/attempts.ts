import type { Info } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createAuthorizedCall } from '../../../src/activities/authorized-call.js';
import { createQuietTimes } from '../../../src/activities/quiet-times.js';
import { createSubscriberCalls, type SubscriberCallPorts } from '../../../src/activities/subscriber-calls.js';
import { createSubscriptionActivities } from '../../../src/activities/subscription.js';
import type { TokenSource } from '../../../src/activities/token-source.js';
import type { Subscriber } from '../../../src/contracts/subscriber-reply.js';
import type { Account } from '../../../src/domain/account.js';
import type { CreateSubscriberInput, SubscribingOutcome } from '../../../src/domain/subscription/state.js';
import { businessAccount } from '../../ride-api/accounts.js';
import { logger, start } from '../attempts.js';
import { fakeRideApi, tokensInOrder } from '../readers.js';

export const account = businessAccount();

/** A request for an address that nobody has been asked for. */
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

export interface SubscribingAttempt {
  outcome?: SubscribingOutcome;
  failure?: ApplicationFailure;
  error?: unknown;
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
      const environment = new MockActivityEnvironment({ scheduledTimestampMs: stage.now, ...info }, { logger });
      let left: unknown = info.heartbeatDetails;
      environment.on('heartbeat', (details: unknown) => {
        left = JSON.parse(JSON.stringify(details));
      });
      try {
        return { outcome: await environment.run(stage.activities.createSubscriber, input), left };
      } catch (error) {
        return error instanceof ApplicationFailure ? { failure: error, error, left } : { error, left };
      }
    },
    async run(input, untilMs = 3_600_000) {
      const attempts: SubscribingAttempt[] = [];
      const scheduledTimestampMs = stage.now;
      const end = stage.now + untilMs;
      while (stage.now <= end) {
        const heartbeatDetails = attempts.at(-1)?.left;
        const attempt = await stage.attempt(input, {
          attempt: attempts.length + 1,
          heartbeatDetails,
          scheduledTimestampMs,
        });
        attempts.push(attempt);
        if (!attempt.failure || attempt.failure.nonRetryable) break;
        stage.now += Number(attempt.failure.nextRetryDelay);
      }
      return attempts;
    },
  };
  return stage;
}
