import { metricMeter } from '@temporalio/workflow';
import type { MissedReason } from '../domain/notice-log.js';

interface CountedNotices {
  outcome: 'told' | MissedReason;
  /** Only one that the operator has allowed: anybody may name any other. */
  origin?: string | undefined;
  count?: number;
}

/** Counts what became of notices to URLs; not again when a run is replayed. */
export const countNotices = ({ outcome, origin = 'other', count = 1 }: CountedNotices): void =>
  metricMeter
    .createCounter('faretrail_notices_total', undefined, 'Notices to URLs by what became of them.')
    .add(count, { origin, outcome });
