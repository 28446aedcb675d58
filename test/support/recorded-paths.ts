import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { RideApiError, TokenRefused } from '../../src/ride-api/errors.js';
import { reading, type ScriptedService, scripted, type TimeSkippingStack } from './time-skipping-stack.js';

/** A run, to its end where it has one, and which run of it to keep. */
export type RecordedPath = (
  stack: TimeSkippingStack,
) => Promise<{ handle: { workflowId: string }; runId?: string | undefined }>;

const minute = 60_000;
const words = { upstreamCode: null, requestId: null };
const ride: ScriptedService = scripted([
  ['Pending', 0],
  ['Reserved', minute],
  ['Confirmed', 20 * minute],
  ['Driving', 40 * minute],
  ['Completed', 60 * minute],
]);
const driving: ScriptedService = () => reading('Driving');
const delivery = (status: string) => ({
  deliveries: [
    { deliveryId: randomUUID(), eventType: 'status_changed', receivedAt: '2031-05-01T10:00:00.000Z', status },
  ],
});

const refuseUntil =
  (untilMs: number, code: RideApiError['code'], status: number): ScriptedService =>
  (elapsedMs) => {
    if (elapsedMs < untilMs) throw new RideApiError(code, status, words, { retry: false });
    return reading('Completed');
  };

/** Time stands still while nobody waits for a result, so a run stays where the test needs it. */
const untilRead = (stack: TimeSkippingStack, before: number) =>
  expect.poll(() => stack.reads.length, { timeout: 10_000 }).toBeGreaterThan(before);

async function followed(
  stack: TimeSkippingStack,
  service: ScriptedService,
  ...more: [Parameters<TimeSkippingStack['start']>[1]?, Parameters<TimeSkippingStack['start']>[2]?]
) {
  const reads = stack.reads.length;
  const handle = await stack.start(service, ...more);
  await untilRead(stack, reads);
  return handle;
}

/** Every way through the workflows, by name: each has a recorded history that must replay for ever (I8). */
export const recordedPaths: Record<string, RecordedPath> = {
  async 'order-completed'(stack) {
    const handle = await stack.start(ride);
    await handle.result();
    return { handle };
  },
  async 'order-with-deliveries'(stack) {
    let status = 'Routing';
    const handle = await followed(stack, () => reading(status));
    await handle.signal('deliveryReceived', delivery('Routing'));
    status = 'Driving';
    await handle.signal('deliveryReceived', delivery('Waiting'));
    await expect.poll(async () => (await handle.query<{ status: string }>('orderTrail')).status).toBe('Driving');
    status = 'Completed';
    await handle.result();
    return { handle };
  },
  async 'order-refreshed-and-stopped'(stack) {
    const handle = await followed(stack, driving);
    await handle.executeUpdate('refreshOrder');
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return { handle };
  },
  async 'order-stopped-before-the-first-read'(stack) {
    const handle = await stack.start(refuseUntil(60 * minute, 'UPSTREAM_FAILED', 500));
    await handle.executeUpdate('stopFollowing', { args: [{ reason: 'recorded' }] });
    return { handle };
  },
  async 'order-expired'(stack) {
    const handle = await stack.start(driving, { followForMs: 30 * minute });
    await handle.result();
    return { handle };
  },
  async 'order-moved-then-expired'(stack) {
    const first = new Date((await stack.env.currentTimeMs()) + 60 * minute).toISOString();
    const moved = new Date((await stack.env.currentTimeMs()) + 120 * minute).toISOString();
    const service: ScriptedService = (elapsedMs) =>
      reading('Reserved', { scheduledAt: elapsedMs < 20 * minute ? first : moved });
    const handle = await stack.start(service, { followForMs: 10 * minute });
    await handle.result();
    return { handle };
  },
  async 'order-unknown'(stack) {
    const handle = await stack.start(refuseUntil(60 * minute, 'ORDER_UNKNOWN', 404));
    await handle.result().catch(() => undefined);
    return { handle };
  },
  async 'order-with-attention'(stack) {
    const handle = await stack.start(refuseUntil(30 * minute, 'FORBIDDEN', 403));
    await handle.result();
    return { handle };
  },
  async 'order-that-tells-others'(stack) {
    const notify = [{ workflowId: 'nobody', signal: 'rideChanged' }];
    const handle = await stack.start(ride, { notify });
    await handle.result();
    return { handle };
  },
  async 'order-continued-as-new'(stack) {
    const handle = await stack.start(ride, {}, { maxEvents: 20, maxSignals: 100 });
    await handle.result();
    return { handle, runId: handle.firstExecutionRunId };
  },
  async 'order-after-continue-as-new'(stack) {
    const handle = await stack.start(ride, {}, { maxEvents: 20, maxSignals: 100 });
    await handle.result();
    return { handle };
  },
  async 'order-with-too-many-signals'(stack) {
    const handle = await followed(stack, driving, {}, { maxEvents: 1_000, maxSignals: 3 });
    for (let sent = 0; sent < 3; sent += 1) await handle.signal('deliveryReceived', delivery('Driving'));
    await expect.poll(async () => (await handle.describe()).runId).not.toBe(handle.firstExecutionRunId);
    await handle.terminate();
    return { handle, runId: handle.firstExecutionRunId };
  },
  async 'order-cancelled'(stack) {
    const handle = await followed(stack, driving);
    await handle.cancel();
    await handle.result().catch(() => undefined);
    return { handle };
  },
  async 'order-with-bad-input'(stack) {
    const handle = await stack.start(driving, { poll: 5 } as never);
    await handle.result().catch(() => undefined);
    return { handle };
  },
  async 'token-renewed-then-idle'(stack) {
    const handle = await stack.startLease();
    await handle.signal('renewToken', { insteadOf: null });
    const first = await tokenOf(stack, handle.workflowId, undefined);
    await handle.signal('renewToken', { insteadOf: first });
    await handle.signal('renewToken', { insteadOf: first });
    await tokenOf(stack, handle.workflowId, first);
    await handle.result();
    return { handle };
  },
  async 'token-refused-then-obtained'(stack) {
    const obtain = stack.onTokenRequest;
    stack.onTokenRequest = () => {
      throw new TokenRefused('credentialsRejected', 401, words);
    };
    const handle = await stack.startLease();
    await handle.signal('renewToken', { insteadOf: null });
    await expect.poll(async () => (await leaseOf(stack, handle.workflowId))?.failure?.code).toBe('credentialsRejected');
    stack.onTokenRequest = obtain;
    await stack.env.sleep(minute + 1_000);
    await handle.signal('renewToken', { insteadOf: null });
    await tokenOf(stack, handle.workflowId, undefined);
    await handle.result();
    return { handle };
  },
  async 'token-rejected-afresh'(stack) {
    const handle = await stack.startLease();
    let current: string | undefined;
    for (let renewals = 0; renewals < 2; renewals += 1) {
      await handle.signal('renewToken', { insteadOf: current ?? null });
      current = await tokenOf(stack, handle.workflowId, current);
    }
    await handle.signal('renewToken', { insteadOf: current ?? null });
    await expect.poll(async () => (await leaseOf(stack, handle.workflowId))?.failure?.code).toBe('credentialsRejected');
    await handle.result();
    return { handle };
  },
  async 'token-continued-as-new'(stack) {
    const handle = await stack.startLease({ maxSignals: 2 });
    await handle.signal('renewToken', { insteadOf: null });
    const first = await tokenOf(stack, handle.workflowId, undefined);
    await handle.signal('renewToken', { insteadOf: 'another' });
    await expect.poll(async () => (await handle.describe()).runId).not.toBe(handle.firstExecutionRunId);
    // Readers find the token all the time.
    expect((await leaseOf(stack, handle.workflowId))?.token?.id).toBe(first);
    return { handle, runId: handle.firstExecutionRunId };
  },
};

interface PublishedLease {
  token: { id: string } | null;
  failure: { code: string } | null;
}

async function leaseOf(stack: TimeSkippingStack, workflowId: string): Promise<PublishedLease | undefined> {
  const { memo } = await stack.env.client.workflow.getHandle(workflowId).describe();
  return memo?.lease as PublishedLease | undefined;
}

/** The id of the token in the lease, once it is another than `before`. */
async function tokenOf(stack: TimeSkippingStack, workflowId: string, before: string | undefined): Promise<string> {
  const idNow = async () => (await leaseOf(stack, workflowId))?.token?.id;
  await expect.poll(async () => ![undefined, before].includes(await idNow())).toBe(true);
  return (await idNow()) ?? '';
}
