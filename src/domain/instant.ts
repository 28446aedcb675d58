import { InvalidInput } from './errors.js';

/** Reads an ISO 8601 instant with an offset and gives it in UTC. Throws `InvalidInput` naming `field`. */
export function toInstant(value: unknown, field: string): string {
  const isInstant =
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/.test(value);
  const epochMs = isInstant ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(epochMs) || !isCalendarDay(value as string)) {
    throw new InvalidInput(`${field}: must be an ISO 8601 instant with an offset, such as 2026-05-01T08:30:00Z`);
  }
  return new Date(epochMs).toISOString();
}

/** The same, undefined for anything else. */
export function readInstant(value: unknown): string | undefined {
  try {
    return toInstant(value, '');
  } catch {
    return undefined;
  }
}

/** V8 reads 30 February as 2 March. */
const isCalendarDay = (instant: string): boolean => {
  const day = instant.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
};
