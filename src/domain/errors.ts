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

/** The error text of a query that reaches a worker ahead of the workflow task for the latest events; the caller repeats it. */
export const askedAhead = 'Something has just happened to this run; ask again.';
