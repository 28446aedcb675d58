/** The content of a traceparent. */
interface TraceContext {
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

/** The header of Temporal messages in which the OpenTelemetry interceptors of all SDKs put the caller's trace. */
export const traceHeader = '_tracer-data';

/** What goes on of a caller's trace: no `tracestate`, and no `baggage`, which may hold anything. */
export interface TraceData {
  traceparent: string;
}

/** A caller's interceptor may also send a `tracestate` of 512 and a `baggage` of 8,192 characters. */
const maxHeaderBytes = 16_384;

/** Reads that header of a message, which any program may send. Undefined unless it brings a traceparent. */
export function readTraceHeader(payload: { data?: Uint8Array | null } | undefined): TraceData | undefined {
  if (!payload?.data || payload.data.length > maxHeaderBytes) return undefined;
  try {
    return toTraceData((JSON.parse(new TextDecoder().decode(payload.data)) as TraceData | null)?.traceparent);
  } catch {
    return undefined; // not JSON
  }
}

/** Undefined unless it is a traceparent. */
export const toTraceData = (value: unknown): TraceData | undefined =>
  typeof value === 'string' && readTraceparent(value) ? { traceparent: value } : undefined;
