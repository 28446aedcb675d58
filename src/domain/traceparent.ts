/** What a traceparent says. */
export interface TraceContext {
  traceId: string;
  spanId: string;
  /** 1: the trace is recorded. */
  traceFlags: number;
}

const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Reads a `traceparent` (W3C Trace Context, section 3.2.2); null unless it is one. */
export function readTraceparent(value: unknown): TraceContext | null {
  const [, traceId, spanId, flags] = (typeof value === 'string' ? form.exec(value) : null) ?? [];
  if (!traceId || !spanId || !flags || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}
