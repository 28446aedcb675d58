import { type MonotonicClock, monotonicMs, wallMs } from '../clock.js';
import { iso } from '../domain/instant.js';
import type { ProofCounts } from '../domain/subscription/proofs.js';
import type { VerifiedProof } from '../domain/subscription/subscription.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';
import type { Judgement } from './verification.js';

// What this process knows of the signature of each address, and what of that the run of its subscription knows:
//
//   unproven --first verified delivery--> due --the signal arrives--> reported --an hour, or the end of refusals--> due ...
//
// A report that fails leaves the address due; deliveries after `retryMs` try again.

interface ProofRecordPorts {
  /** Sends the counts to the run of the subscription. False: it has ended. Rejects while Temporal does not answer. */
  report(key: SubscriptionKey, counts: ProofCounts): Promise<boolean>;
  /** A delivery has been verified by a header in which this process had seen no proof at this address. */
  onVerified?(key: SubscriptionKey, found: { generation: string; header: string }): void;
  /** A report failed; deliveries after a pause try again. */
  onFailed?(key: SubscriptionKey, error: unknown): void;
  monotonic?: MonotonicClock;
}

/** The signatures that this process has seen. */
export interface ProofRecord {
  /** What this process knows; null before the first delivery that it has verified. */
  find(key: SubscriptionKey, generation: string): VerifiedProof | null;
  /** Counts a judgement, and reports it when that is due. `published`: what the memo of the subscription says. */
  note(key: SubscriptionKey, generation: string, judgement: Judgement, published: VerifiedProof | null): void;
}

/** How often an ingress reports at most, before the memo of the subscription says otherwise. */
const reportEveryMs = 3_600_000;
/** The pause after a report that failed. */
const retryMs = 5_000;
/** A bound for memory. Only addresses of ours come here. */
const maxKnown = 1_000;

interface Counted {
  verified: VerifiedProof | null;
  /** Since the last report. */
  counts: { verified: number; refused: number; from: string };
  /** When the last report that arrived was sent, on the monotonic clock. */
  reportedAt: number;
  /** The run should have it at once: the first verified delivery, or the first one after a report of refusals alone. */
  isUrgent: boolean;
  /** The last report held refusals alone. */
  wasRefusing: boolean;
  /** No report before this moment, on the monotonic clock; `Infinity` while one is under way. */
  pausedUntil: number;
}

/** One record for a process. */
export function createProofRecord(ports: ProofRecordPorts): ProofRecord {
  const { report, onVerified, onFailed, monotonic = monotonicMs } = ports;
  const known = new Map<string, Counted>();

  function open(name: string): Counted {
    if (known.size >= maxKnown) known.clear();
    const counted: Counted = {
      ...{ verified: null, counts: { verified: 0, refused: 0, from: iso(wallMs()) } },
      ...{ reportedAt: monotonic(), isUrgent: false, wasRefusing: false, pausedUntil: Number.NEGATIVE_INFINITY },
    };
    known.set(name, counted);
    return counted;
  }

  async function send(key: SubscriptionKey, generation: string, counted: Counted): Promise<void> {
    const { counts, verified } = counted;
    const sentAt = monotonic();
    counted.pausedUntil = Number.POSITIVE_INFINITY;
    counted.counts = { verified: 0, refused: 0, from: iso(wallMs()) };
    try {
      await report(key, { generation, header: verified?.header ?? null, ...counts });
      counted.reportedAt = sentAt;
      counted.wasRefusing = counts.verified === 0;
      if (counts.verified > 0) counted.isUrgent = false;
      counted.pausedUntil = sentAt;
    } catch (error) {
      onFailed?.(key, error);
      counted.pausedUntil = monotonic() + retryMs;
      const later = counted.counts;
      const sum = { verified: counts.verified + later.verified, refused: counts.refused + later.refused };
      counted.counts = { ...sum, from: counts.from };
    }
  }

  return {
    find: (key, generation) => known.get(nameOf(key, generation))?.verified ?? null,
    note(key, generation, { verdict, header }, published) {
      if (verdict !== 'verified' && verdict !== 'wrongSecret') return;
      const name = nameOf(key, generation);
      const counted = known.get(name) ?? open(name);
      if (verdict === 'verified' && (counted.verified ?? published) === null) counted.isUrgent = true;
      if (verdict === 'verified' && counted.wasRefusing) counted.isUrgent = true;
      if (verdict === 'verified') counted.counts.verified += 1;
      else counted.counts.refused += 1;
      if (header !== null && counted.verified?.header !== header) {
        const at = counted.verified?.at ?? published?.at ?? iso(wallMs());
        counted.verified = { header, at, reportEveryMs };
        onVerified?.(key, { generation, header });
      }
      const sinceReport = monotonic() - counted.reportedAt;
      const isDue = counted.isUrgent || sinceReport >= (published?.reportEveryMs ?? reportEveryMs);
      if (isDue && monotonic() >= counted.pausedUntil) void send(key, generation, counted);
    },
  };
}

const nameOf = ({ account, eventType }: SubscriptionKey, generation: string): string =>
  `${account}/${eventType}/${generation}`;
