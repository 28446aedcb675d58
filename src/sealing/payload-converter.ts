import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';
import { damagedEncoding, UndecodablePayload } from '../domain/input-fields.js';
import { maxJsonDepth, readJson, UnreadableJson } from '../domain/json.js';

/**
 * Writes what the SDK's own converter does, and reads it. What can never be read becomes an `UndecodablePayload`, which every parser
 * refuses: an error here fails the task of a workflow, and the next one, and so on. That is what a payload whose key is not held needs,
 * so it throws: an update is refused, and for all else the run waits until a worker holds the key.
 *
 * Loaded by its path and under this name: by the SDK in the threads of a worker, and into the bundle of the workflows.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload<T>(payload: Payload): T {
    if (encodingOf(payload) === 'binary/encrypted') throw new Error(`${noKey}; a worker with the key goes on`);
    return readPayload(payload) as T;
  },
};

/** For clients, which wait for no key: what another program has encrypted must not stop a list of runs. */
export const clientPayloadConverter: PayloadConverter = {
  ...payloadConverter,
  fromPayload: <T>(payload: Payload): T => readPayload(payload) as T,
};

const noKey = 'a payload is encrypted with a key that is not held';

const encodingOf = ({ metadata }: Payload): string =>
  new TextDecoder().decode(metadata?.encoding?.subarray(0, 40) ?? new Uint8Array());

/** Answers and inputs may have 64 levels; a run hands them on inside its own state. */
const levels = 2 * maxJsonDepth;

function readPayload(payload: Payload): unknown {
  switch (encodingOf(payload)) {
    case 'json/plain':
      return readJsonData(payload.data);
    case 'binary/null':
    case 'binary/plain':
      return defaultPayloadConverter.fromPayload(payload);
    case 'binary/encrypted':
      return new UndecodablePayload(noKey);
    case damagedEncoding:
      return new UndecodablePayload('encrypted, and its key does not open it');
    default:
      return new UndecodablePayload('its encoding is not json/plain');
  }
}

function readJsonData(data: Uint8Array | null | undefined): unknown {
  if (!data || data.length === 0) return new UndecodablePayload('no data');
  try {
    // RFC 8259 section 8.1: UTF-8, and a reader may pass over a byte order mark, which the decoder does.
    return readJson(new TextDecoder('utf-8', { fatal: true }).decode(data), levels);
  } catch (error) {
    return new UndecodablePayload(error instanceof UnreadableJson ? error.message : 'not UTF-8');
  }
}
