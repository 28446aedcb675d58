import {
  defaultPayloadConverter,
  encodingKeys,
  type Payload,
  type PayloadConverter,
  RawValue,
} from '@temporalio/common';
import { damagedField, UndecodablePayload } from '../domain/input-fields.js';
import { maxJsonDepth, readJson, UnreadableJson, writeJson } from '../domain/json.js';

/**
 * Reads and writes what the SDK's own converter does, byte for byte, but never throws: an error here fails the task of a workflow,
 * and the next one, and so on. What cannot be read becomes an `UndecodablePayload`; what cannot be written becomes what can.
 *
 * Loaded by its path and under this name: by the SDK in the threads of a worker, and into the bundle of the workflows.
 */
export const payloadConverter: PayloadConverter = {
  toPayload<T>(value: T): Payload {
    // Absent, binary and raw values are no JSON.
    if (value === undefined || value instanceof Uint8Array || value instanceof RawValue)
      return defaultPayloadConverter.toPayload(value);
    const data = new TextEncoder().encode(writeJson(value, levels));
    return { metadata: { encoding: encodingKeys.METADATA_ENCODING_JSON }, data };
  },
  fromPayload: <T>(payload: Payload): T => read(payload) as T,
};

/** Answers and inputs may have 64 levels; a run hands them on inside its own state. */
const levels = 2 * maxJsonDepth;

function read(payload: Payload): unknown {
  const { encoding, [damagedField]: damaged } = payload.metadata ?? {};
  const word = encoding ? new TextDecoder().decode(encoding.subarray(0, 40)) : '';
  switch (word) {
    case 'json/plain':
      return readJsonData(payload.data);
    case 'binary/null':
    case 'binary/plain':
      return defaultPayloadConverter.fromPayload(payload);
    case 'binary/encrypted':
      return damaged
        ? new UndecodablePayload('encrypted, and its key does not open it')
        : new UndecodablePayload('encrypted with a key that is not held', 'missing');
    case '':
      return new UndecodablePayload('it names no encoding; json/plain is wanted');
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
