/** A time or a duration of the protocol. `seconds` is a number or a `Long`. */
export type ProtoTime = { seconds?: unknown; nanos?: number | null } | null | undefined;

/** Milliseconds, rounded down like in the SDK. */
export const msOf = (time: ProtoTime): number =>
  Number(time?.seconds ?? 0) * 1_000 + Math.floor((time?.nanos ?? 0) / 1_000_000);

export const toTime = (ms: number): { seconds: number; nanos: number } => ({
  seconds: Math.floor(ms / 1_000),
  nanos: Math.round((ms % 1_000) * 1_000_000),
});
