import { createEnvReader, type SettingsSource } from './env-reader.js';

/** Are traces sent? The library reads the rest of the standard `OTEL_*` variables by itself. */
export function readTracing(source: SettingsSource): boolean {
  const read = createEnvReader(source);
  const exporter = read.oneOf('OTEL_TRACES_EXPORTER', ['otlp', 'none']);
  if (exporter !== 'otlp' || read.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return false;
  for (const name of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'])
    if (read.text(name) === 'grpc')
      read.refuse(name, 'must be http/json; collectors take it on port 4318, not on 4317');
  return true;
}
