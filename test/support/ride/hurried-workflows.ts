import { requestRide as ride } from '../../../src/workflows/ride/request-ride.js';

// All workflows, with rides that wait for their receipt as briefly as a test can, through whichever way in they come.
export * from '../../../src/workflows/index.js';

const limits = { firstReceiptMs: 150_000, receiptEveryMs: 300, receiptUnchangedMs: 500, receiptAtMostMs: 180_000 };

export const requestRide: typeof ride = (input, progress) => ride(input, { limits, ...progress });
