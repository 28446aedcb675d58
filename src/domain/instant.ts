import { readInput } from './input-fields.js';
import * as s from './schema.js';

const pattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;
const rule = 'must be an ISO 8601 instant with an offset, such as 2026-05-01T08:30:00Z';

/** V8 reads 30 February as 2 March. */
function isOnCalendar(instant: string): boolean {
  if (Number.isNaN(Date.parse(instant))) return false;
  const day = instant.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/** An ISO 8601 instant of milliseconds since the epoch, in UTC. */
export const iso = (epochMs: number): string => new Date(epochMs).toISOString();

/** Milliseconds since the epoch of such an instant; null for none. */
export const toEpoch = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));

/** An ISO 8601 instant with an offset, read as the same instant in UTC. */
export const InstantSchema = s.described(
  s.mapped(
    s.checked(s.matching(pattern, rule, { format: 'date-time', pattern: pattern.source }), isOnCalendar, rule),
    (instant) => new Date(instant).toISOString(),
  ),
  'ISO 8601 instant with an offset.',
);

/** Reads an ISO 8601 instant with an offset and gives it in UTC. Throws `InvalidInput` naming `field`. */
export const toInstant = (value: unknown, field: string): string => readInput(InstantSchema, value, field);

/** The same, but undefined for anything else. */
export const readInstant = (value: unknown): string | undefined =>
  // Making an error costs much, and most answers name no pick-up.
  typeof value === 'string' ? s.readOr(InstantSchema, value, undefined) : undefined;

/** An instant that a run has published; it is read unchanged. */
export const PublishedInstantSchema = s.checked(s.answered(), (text) => !Number.isNaN(Date.parse(text)), rule);
