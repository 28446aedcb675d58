/** Base of every error that we throw on purpose. Branch on `code`, never on `message`. The message never holds a secret. */
export class FaretrailError<Code extends string = string> extends Error {
  override readonly name: string = 'FaretrailError';
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An input that the caller can correct. The message names the field and the remedy, never a secret. */
export class InvalidInput extends FaretrailError<'InvalidInput'> {
  override readonly name = 'InvalidInput';

  constructor(message: string, options?: ErrorOptions) {
    super('InvalidInput', message, options);
  }
}

/** A server cannot listen at this place, for example since its port is taken. Names the setting. */
export function cannotListen<Code extends string>(code: Code, setting: string, where: string, cause: unknown) {
  const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no reason given';
  return new FaretrailError(code, `${setting}: cannot listen at ${where} (${why})`, { cause });
}

/** The error text of a query that reaches a worker ahead of the workflow task for the latest events; the caller repeats it. */
export const askedAhead = 'Something has just happened to this run; ask again.';

/**
 * Failure type of `refreshOrder` without a read: the run ended or continued as new first, or the read failed (with its
 * code in the details).
 */
export const notRead = 'NotRead';
