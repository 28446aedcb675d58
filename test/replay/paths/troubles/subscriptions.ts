import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { patient } from '../../../support/patience.js';
import { failureOf } from '../../../support/ride/rides.js';
import { hasTimers, isPending } from '../../../support/runs.js';
import { subscribe } from '../../../support/subscription/subscriptions.js';
import { completed, ended, type Paths } from '../path.js';
import { answers, fails, scripted, silent } from '../scripted.js';

const registration = {
  ...{ kind: 'registered', sealedSecret: 'sealed' },
  subscriber: { id: 's-1', createdAt: null, updatedAt: null },
};
const registered = answers(registration);
const hadToWait = answers({
  kind: 'trouble',
  trouble: { code: 'upstreamUnavailable', message: 'this account has to wait', afterMs: 100, isUnsent: true },
  isUnclaimed: true,
});
const removed = answers({ kind: 'removed', subscriberId: 's-1' });

/** Of subscriptions, and of the gate before new versions. */
export const subscriptionTroubles: Paths = {
  'subscription-whose-request-was-ended': scripted(
    {
      createSubscriber: [() => fails(), registered],
      removeSubscriber: () => fails(),
      watchResets: () => fails(),
    },
    async (place) => {
      const run = await subscribe(place);
      await hasTimers(run.handle, 1); // the pause before another address
      await run.handle.executeUpdate('moveSubscription', { args: [{ publicUrl: 'http://127.0.0.1:7' }] });
      await run.active();
      await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
      return run.handle;
    },
  ),
  'subscription-whose-request-had-to-wait': scripted(
    { createSubscriber: [hadToWait, hadToWait, registered], removeSubscriber: removed, watchResets: silent },
    async (place) => {
      const run = await subscribe(place);
      await run.active();
      await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
      return run.handle;
    },
  ),
  'subscription-with-refused-input': scripted(
    {
      createSubscriber: () => fails('InvalidInput'),
      removeSubscriber: answers({ kind: 'removed', subscriberId: 's-1' }),
    },
    async (place) => ended((await subscribe(place)).handle),
  ),
  'subscription-moved-during-a-request': scripted(
    {
      createSubscriber: [silent, registered],
      removeSubscriber: answers({ kind: 'removed', subscriberId: 's-1' }),
      watchResets: silent,
    },
    async (place) => {
      const run = await subscribe(place);
      await isPending(run.handle, 'createSubscriber');
      await run.handle.executeUpdate('moveSubscription', { args: [{ publicUrl: 'http://127.0.0.1:7' }] });
      await run.active();
      await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
      return run.handle;
    },
  ),
  'subscription-ended-during-a-move': scripted(
    { createSubscriber: silent, removeSubscriber: answers({ kind: 'unknown', subscriberId: null }, 1_000) },
    async (place) => {
      const run = await subscribe(place);
      await isPending(run.handle, 'createSubscriber');
      const moving = failureOf(
        run.handle.executeUpdate('moveSubscription', { args: [{ publicUrl: 'http://127.0.0.1:7' }] }),
      );
      await vi.waitFor(async () => expect((await run.status()).generations.length).toBeGreaterThan(1), patient);
      await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
      await moving;
      return run.handle;
    },
  ),
  'subscription-rotated-twice-at-once': scripted(
    { createSubscriber: [registered, answers(registration, 1_500)], removeSubscriber: removed, watchResets: silent },
    async (place) => {
      const run = await subscribe(place);
      await run.active();
      const rotate = (graceMs: number) => run.handle.executeUpdate('rotateSubscription', { args: [{ graceMs }] });
      await Promise.all([rotate(600_000), rotate(60_000), rotate(120_000)]);
      await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
      return run.handle;
    },
  ),
  'subscription-reset': scripted(
    {
      createSubscriber: registered,
      removeSubscriber: answers({ kind: 'removed', subscriberId: 's-1' }),
      watchResets: [answers(undefined, 500), silent],
    },
    async (place) => {
      const run = await subscribe(place, { graceMs: 1_000 });
      await vi.waitFor(async () => expect((await run.status()).generations.length).toBeGreaterThan(1), patient);
      await vi.waitFor(async () => expect((await run.status()).generations).toHaveLength(1), patient);
      await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
      return run.handle;
    },
  ),
  'replay-gate': scripted({ replayRunning: answers({ replayed: 3 }) }, ({ client, config: { taskQueue } }) =>
    completed(client.workflow.start('replayGate', { workflowId: `gate/${randomUUID()}`, taskQueue, args: [] })),
  ),
  'replay-gate-with-bad-input': scripted({}, ({ client, config: { taskQueue } }) =>
    ended(client.workflow.start('replayGate', { workflowId: `gate/${randomUUID()}`, taskQueue, args: ['all'] })),
  ),
};
