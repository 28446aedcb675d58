import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';

/** Decodes and decrypts payloads, such as the arguments in a history, with the converter of this client. Rejects where that fails. */
export async function decodeAll(client: Client, payloads: Payload[] | null | undefined): Promise<unknown[]> {
  const { payloadConverter, payloadCodecs } = client.options.loadedDataConverter;
  let decoded = payloads ?? [];
  for (const codec of payloadCodecs) decoded = await codec.decode(decoded);
  return decoded.map((payload) => payloadConverter.fromPayload(payload));
}
