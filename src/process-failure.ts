import { FaretrailError } from './domain/errors.js';
import { createLogger } from './observability/logging.js';

/** Ends a process that cannot go on. What a person is to correct is said in plain text; all else is a log line. */
export function failProcess(error: unknown, process: 'worker' | 'ingress'): never {
  if (error instanceof FaretrailError) console.error(error.message);
  else createLogger({ level: 'fatal', process }).fatal({ err: error }, `the ${process} has failed`);
  return globalThis.process.exit(isAboutSettings(error) ? 2 : 1);
}

const isAboutSettings = (error: unknown): boolean => error instanceof FaretrailError && error.code === 'ConfigError';
