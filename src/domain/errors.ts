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

/** Why a server cannot listen, by the code of Node. */
const listenFaults: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens at this port',
  EACCES: 'this user may not listen at this port; take one above 1023',
  EADDRNOTAVAIL: 'this is no address of this machine',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be resolved',
};
const aboutHost = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'];

/** A server cannot listen where its settings say, for example since the port is taken. Names the setting to correct. */
export function cannotListen<Code extends string>(code: Code, at: { host?: string; port: string }, cause: unknown) {
  const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no reason given';
  const setting = at.host !== undefined && aboutHost.includes(why) ? at.host : at.port;
  return new FaretrailError(code, `${setting}: ${listenFaults[why] ?? 'cannot listen there'} (${why})`, { cause });
}

/** The error text of a query that reaches a worker ahead of the workflow task for the latest events; the caller repeats it. */
export const askedAhead = 'Something has just happened to this run; ask again.';

/**
 * Failure type of `refreshOrder` without a read: the run ended or continued as new first, or the read failed (with its
 * code in the details).
 */
export const notRead = 'NotRead';
