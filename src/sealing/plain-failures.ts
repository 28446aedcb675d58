import {
  DefaultFailureConverter,
  type DefaultFailureConverterOptions,
  type FailureConverter,
  type ProtoFailure,
} from '@temporalio/common';

/**
 * The SDK's converter, with texts that its core can take: they are protobuf strings, and one that is not well-formed ends the whole worker,
 * as does an error whose causes have no end.
 */
export function createFailureConverter(options: Partial<DefaultFailureConverterOptions> = {}): FailureConverter {
  const sdk = new DefaultFailureConverter(options);
  return {
    failureToError: (...given) => sdk.failureToError(...given),
    errorToFailure(error, ...given) {
      try {
        return wellFormed(sdk.errorToFailure(error, ...given));
      } catch {
        return sdk.errorToFailure(new Error('Something was thrown that cannot be shown.'), ...given);
      }
    },
  };
}

/** More than anybody reads; the core refuses about a hundred. */
const mostCauses = 8;

function wellFormed(failure: ProtoFailure, causes = mostCauses): ProtoFailure {
  const { message, stackTrace, applicationFailureInfo: info, cause } = failure;
  return {
    ...failure,
    ...(message && { message: message.toWellFormed() }),
    ...(stackTrace && { stackTrace: stackTrace.toWellFormed() }),
    ...(info?.type && { applicationFailureInfo: { ...info, type: info.type.toWellFormed() } }),
    ...(cause && { cause: causes > 0 ? wellFormed(cause, causes - 1) : null }),
  };
}

/** Messages and stacks of failures in clear. Loaded as `encoded-failures.ts` is, by workers that do not encrypt. */
export const failureConverter = createFailureConverter();
