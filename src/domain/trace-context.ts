const form = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Is it a `traceparent` (W3C Trace Context, section 3.2.2)? */
export const isTraceparent = (value: unknown): value is string => typeof value === 'string' && form.test(value);

/** The header of Temporal messages in which the OpenTelemetry interceptors of all SDKs put the caller's trace. */
export const traceHeader = '_tracer-data';

/** A caller's interceptor may also send a `tracestate` of 512 and a `baggage` of 8,192 characters. */
const maxHeaderBytes = 16_384;

/** The traceparent in that header of a message, which any program may send: no `tracestate`, and no `baggage`, which may hold anything. */
export function readTraceHeader(payload: { data?: Uint8Array | null } | undefined): string | undefined {
  if (!payload?.data || payload.data.length > maxHeaderBytes) return undefined;
  try {
    const { traceparent } = JSON.parse(new TextDecoder().decode(payload.data)) as { traceparent?: unknown };
    return isTraceparent(traceparent) ? traceparent : undefined;
  } catch {
    return undefined; // not JSON, or null
  }
}
