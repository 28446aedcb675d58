import { defaultContractProfile as profile } from '../../src/contracts/default-contract-profile.js';

/** Wrong values for fields of one operation, and for its pointers. */
export interface Guess {
  operation?: object;
  pointers?: object;
}

/** The operations whose answers the worker reads by pointers. */
export type GuessedOperation = 'orderStatus' | 'orderDetails' | 'createOrder';

/** Every field of the contract profile that the operation depends on, each with some wrong values. */
export function guessesFor(operation: GuessedOperation): Record<string, Guess[]> {
  const { path, method } = profile.operations[operation];
  const pointers = profile.pointers[operation];
  const methods = (['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const).filter((other) => other !== method);
  const paths = [path.replace('/v1', '/v9'), path.replace('/v1', '/v1/x')];
  return {
    [`operations.${operation}.path`]: paths.map((wrong) => ({ operation: { path: wrong } })),
    [`operations.${operation}.method`]: methods.map((wrong) => ({ operation: { method: wrong } })),
    [`operations.${operation}.scope`]: ['company.reference', ''].map((scope) => ({ operation: { scope } })),
    [`operations.${operation}.success`]: [[201], [204, 299]].map((success) => ({ operation: { success } })),
    ...('status' in pointers
      ? {
          [`pointers.${operation}.status`]: [['/nowhere'], ['/order']].map((status) => ({ pointers: { status } })),
          [`pointers.${operation}.orderId`]: [{ pointers: { orderId: pointers.status } }],
        }
      : { [`pointers.${operation}.orderId`]: [{ pointers: { orderId: ['/nowhere'] } }] }),
  };
}

/** The overrides of a contract profile that holds all these guesses. */
export function wrongProfile(operation: GuessedOperation, guesses: readonly Guess[]) {
  return {
    operations: { [operation]: Object.assign({}, ...guesses.map((guess) => guess.operation)) },
    pointers: { [operation]: Object.assign({}, ...guesses.map((guess) => guess.pointers)) },
  };
}
