import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { EarlierRun } from '../domain/earlier-run.js';
import type { FollowRequest } from '../domain/follow-input.js';
import type { DeliveryNotice } from '../domain/notices.js';
import type { OrderTrail } from '../domain/trail.js';

/** Deliveries about the order, as hints; each leads to at least one read that starts afterwards (I2). */
export const deliveryReceivedSignal = defineSignal<[{ deliveries: DeliveryNotice[] }]>('deliveryReceived');

/**
 * What a caller wants of the following, whoever made the run: it fills what the run does not know yet and adds receivers, each told
 * where the order stands, then of every change and of the end. It overwrites nothing, so it may come first, twice or late.
 */
export const followRequestedSignal = defineSignal<[FollowRequest]>('followRequested');

/** Reads the order now and answers with the trail after that read. */
export const refreshOrderUpdate = defineUpdate<OrderTrail>('refreshOrder');

/** Ends the run with the outcome `stopped` and answers with the final trail. `reason`: 1 to 200 characters. */
export const stopFollowingUpdate = defineUpdate<OrderTrail, [{ reason: string }]>('stopFollowing');

/** For a later run of the same order: what this one leaves to it. */
export const leftByRunQuery = defineQuery<EarlierRun>('leftByRun');

/** The trail as the run knows it. */
export const orderTrailQuery = defineQuery<OrderTrail>('orderTrail');
