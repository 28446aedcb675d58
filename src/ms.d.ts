// The Temporal packages name this type of the `ms` package. Without it their `Duration` is silently `any` under `nodenext`.
declare module 'ms' {
  export type StringValue = string;
}
