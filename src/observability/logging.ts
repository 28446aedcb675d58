import type { Logger as TemporalLogger } from '@temporalio/common';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from '../config.js';
import { askedAhead } from '../domain/errors.js';

export type { Logger } from 'pino';

const redacted = '[secret]';
const maxDepth = 6;

/** Compared in lower case, without "-" and "_", so that `client_secret`, `clientSecret` and `Client-Secret` are one. */
const secretFields = new Set([
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'clientsecret',
  'accesstoken',
  'refreshtoken',
  'apikey',
  'password',
  'secret',
  'secretid',
  'token',
  'tasktoken', // its holder can end an activity
]);

function isSecretField(name: string): boolean {
  const plain = name.toLowerCase().replace(/[-_]/g, '');
  return secretFields.has(plain) || plain.startsWith('sealed');
}

/** What logs show of an error. Other properties stay out, since libraries attach whole requests with headers to errors. */
function showError(error: Error): Record<string, unknown> {
  const { cause } = error;
  return {
    ...codeOf(error),
    name: error.name,
    message: error.message,
    stack: error.stack,
    ...(cause instanceof Error && { cause: { ...codeOf(cause), message: cause.message } }),
  };
}

const codeOf = (error: Error): { code?: string | number } =>
  'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? { code: error.code } : {};

/** A copy for a log: without the values of fields that are named like secrets, with errors, bytes and depth cut short. */
function showValue(value: unknown, depth: number): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof Error) return showError(value);
  if (ArrayBuffer.isView(value)) return '[bytes]';
  if (depth >= maxDepth) return '[deep]';
  if (Array.isArray(value)) return value.map((item) => showValue(item, depth + 1));
  if ('toJSON' in value && typeof value.toJSON === 'function') return showValue(value.toJSON(), depth + 1);
  return showFields(value, depth);
}

function showFields(fields: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, isSecretField(name) ? redacted : showValue(value, depth + 1)]),
  );
}

let fieldsOfSpan = (): object => ({});

/** From now on each line that is written within a span names it. */
export function showSpansInLogs(read: () => object): void {
  fieldsOfSpan = read;
}

/**
 * Writes JSON lines for one process, by default to stdout. It blanks fields that are named like secrets at any depth, also in
 * the bindings of child loggers. It does not search message texts, so these may hold ids only.
 */
export function createLogger(
  { level, process }: { level: LogLevel; process: string },
  destination: DestinationStream = pino.destination(1),
): Logger {
  const logger = pino(
    {
      level,
      base: { process },
      mixin: () => fieldsOfSpan(),
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: (fields) => showFields(fields, 0) },
      // The formatter has made a plain object of every error, which pino's serializer would show as an `Object`.
      serializers: { err: (value) => value },
    },
    destination,
  );
  return withSafeBindings(logger);
}

// `formatters.log` does not see the bindings of a child, and the bindings formatter is not inherited.
function withSafeBindings(logger: Logger): Logger {
  const child = logger.child;
  logger.child = function safeChild(this: Logger, bindings: object, ...rest: unknown[]) {
    return Reflect.apply(child, this, [showFields(bindings, 0), ...rest]);
  } as Logger['child'];
  return logger;
}

/** Our logger in the form that `Runtime.install({ logger })` takes. */
export function toTemporalLogger(logger: Logger): TemporalLogger {
  return {
    log: (level, message, meta) => logger[level.toLowerCase() as Lowercase<typeof level>](withoutTask(meta), message),
    trace: (message, meta) => logger.trace(withoutTask(meta), message),
    debug: (message, meta) => logger.debug(withoutTask(meta), message),
    info: (message, meta) => logger.info(withoutTask(meta), message),
    warn: (message, meta) => logger.warn(withoutTask(meta), message),
    error: (message, meta) => logger[isToldToAskAgain(meta) ? 'debug' : 'error'](withoutTask(meta), message),
  };
}

const isToldToAskAgain = (meta: { error?: Error } | undefined): boolean => meta?.error?.message === askedAhead;

/** The SDK logs a task that it cannot begin with all its payloads. */
function withoutTask(meta: object | undefined): object {
  const { task: _, taskEncoded: _encoded, ...shown } = (meta ?? {}) as Record<string | symbol, unknown>;
  return shown;
}
