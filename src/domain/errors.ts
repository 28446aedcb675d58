/** Base of every error we throw on purpose. Branch on `code`, never on `message`; the message never holds a secret value. */
export class FaretrailError<Code extends string = string> extends Error {
  override readonly name: string = 'FaretrailError';
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An input that a caller can mend: the message names the field and the remedy, never the value of a secret. */
export class InvalidInput extends FaretrailError<'InvalidInput'> {
  override readonly name = 'InvalidInput';

  constructor(message: string, options?: ErrorOptions) {
    super('InvalidInput', message, options);
  }
}
