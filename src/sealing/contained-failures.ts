import {
  ApplicationFailure,
  DefaultFailureConverter,
  type DefaultFailureConverterOptions,
  type PayloadConverter,
  type ProtoFailure,
  type SerializationContext,
} from '@temporalio/common';

const maxMessage = 4_000;
const maxStack = 8_000;
const maxType = 200;
/** The cause of a cause of ... : more than anybody reads. */
const maxCauses = 8;
/** In bytes; the server warns of more. */
const maxDetails = 512 * 1_024;

const unshowable = 'Something was thrown that cannot be shown.';

/**
 * Makes a failure of whatever was thrown that the SDK's core can always take. Its texts are protobuf strings, and one that is not
 * well-formed ends the whole worker; so they are mended, and cut, and so is a chain of causes without end.
 */
export class ContainedFailureConverter extends DefaultFailureConverter {
  private readonly depth: number;

  constructor(options: Partial<DefaultFailureConverterOptions> = {}, depth = 0) {
    super(options);
    this.depth = depth;
  }

  override errorToFailureInner(
    error: unknown,
    payloadConverter: PayloadConverter,
    context?: SerializationContext,
  ): ProtoFailure {
    try {
      return contained(super.errorToFailureInner(error, payloadConverter, context));
    } catch {
      return contained(super.errorToFailureInner(standIn(error), payloadConverter, context));
    }
  }

  /** Of causes. */
  override optionalErrorToOptionalFailure(
    error: unknown,
    payloadConverter: PayloadConverter,
    context?: SerializationContext,
  ): ProtoFailure | undefined {
    if (!error) return undefined;
    if (this.depth === maxCauses) return { message: 'There are more causes.' };
    return new ContainedFailureConverter(this.options, this.depth + 1).errorToFailure(error, payloadConverter, context);
  }
}

/** For an error with a part that cannot be converted: what callers branch on, and its message. */
function standIn(error: unknown): ApplicationFailure {
  const { type, nonRetryable } = error instanceof ApplicationFailure ? error : {};
  return ApplicationFailure.create({
    message: (attempt(() => String((error as Error).message)) ?? '') || unshowable,
    ...(typeof type === 'string' ? { type } : {}),
    nonRetryable: nonRetryable === true,
  });
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

function contained(failure: ProtoFailure): ProtoFailure {
  const { message, stackTrace, applicationFailureInfo: info } = failure;
  return {
    ...failure,
    message: text(message, maxMessage),
    stackTrace: text(stackTrace, maxStack),
    ...(info
      ? {
          applicationFailureInfo: {
            ...info,
            type: text(info.type, maxType),
            details: isBig(info.details?.payloads) ? null : (info.details ?? null),
          },
        }
      : {}),
  };
}

/** Cut first: a cut may leave half of a pair. */
function text(value: unknown, most: number): string | null {
  if (value === undefined || value === null) return null;
  return (attempt(() => String(value)) ?? unshowable).slice(0, most).toWellFormed();
}

const isBig = (payloads: readonly { data?: Uint8Array | null }[] | null | undefined): boolean =>
  (payloads ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0) > maxDetails;
