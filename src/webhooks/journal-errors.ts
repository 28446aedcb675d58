import { FaretrailError } from '../domain/errors.js';

export type JournalErrorCode = 'JournalFull' | 'JournalUnwritable' | 'JournalInUse';

/**
 * The journal cannot take a delivery, so there must be no 2xx. `JournalFull`: it holds as much as it may until some of it
 * is forwarded. `JournalUnwritable`: the disk refuses; it is tried again by itself. `JournalInUse`: another process has
 * it. Not for a delivery that Temporal does not take: that one is safe in the journal.
 */
export class JournalError extends FaretrailError<JournalErrorCode> {
  override readonly name = 'JournalError';
}

/** Says what a disk refused, without a path. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown disk error';
  if (error instanceof FaretrailError) return error.message;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code; // of Node; its message holds the path
  return error.message.split(/[:\n]/)[0] ?? 'unknown disk error';
}
