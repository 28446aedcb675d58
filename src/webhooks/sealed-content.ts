import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject, ownValue } from '../contracts/json.js';
import { FaretrailError } from '../domain/errors.js';
import { type ParkedDeliveryKey, parkedDeliveryId } from '../domain/workflow-ids.js';
import type { Sealer } from '../sealing/sealer.js';
import type { RawDelivery } from './delivery-request.js';

/** Headers that tell where a delivery came from. Never `authorization` or `cookie`, unless a check needs them. */
const keptHeaders = ['content-type', 'user-agent', 'x-request-id'];
/** Longer values tell no more, and would make the journal grow. */
const maxHeaderLength = 1_024;

/** Seals body and headers under the webhook keys: JSON `{ body, headers }`, the body in base64. */
export function sealContent(
  sealer: Pick<Sealer, 'seal'>,
  key: ParkedDeliveryKey,
  { rawBody, headers }: Pick<RawDelivery, 'headers' | 'rawBody'>,
  headersToCheck: readonly string[] = [],
): Promise<string> {
  const kept = [...keptHeaders, ...headersToCheck].flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' && value.length <= maxHeaderLength ? [[name, value]] : [];
  });
  const content = { body: rawBody.toString('base64'), headers: Object.fromEntries(kept) };
  return sealer.seal(JSON.stringify(content), parkedDeliveryId(key));
}

/** The inverse of `sealContent`. Throws `SealingError`, or `FaretrailError` `ContentUnreadable`. */
export async function openContent(
  sealer: Pick<Sealer, 'unseal'>,
  key: ParkedDeliveryKey,
  sealed: string,
): Promise<Pick<RawDelivery, 'headers' | 'rawBody'>> {
  const content: unknown = JSON.parse(await sealer.unseal(sealed, parkedDeliveryId(key)));
  const body = ownValue(content, 'body');
  const headers = ownValue(content, 'headers');
  if (typeof body !== 'string' || !isJsonObject(headers))
    throw new FaretrailError('ContentUnreadable', 'the sealed content of a delivery is not in our form');
  return { rawBody: Buffer.from(body, 'base64'), headers: headers as IncomingHttpHeaders };
}
