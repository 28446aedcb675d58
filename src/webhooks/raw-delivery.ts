import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject, type JsonObject, ownValue, readIncomingJson } from '../contracts/json.js';
import { FaretrailError } from '../domain/errors.js';
import { type ParkedDeliveryKey, parkedDeliveryId } from '../domain/workflow-ids.js';
import type { Sealer } from '../sealing/sealer.js';

/** What the sender sent. */
export interface RawContent {
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
}

/** A delivery before the ingress reads its fields. */
export interface RawDelivery extends RawContent {
  body: JsonObject;
  /** Do all JSON parsers read the same in it? */
  isClear: boolean;
}

/** Reads the JSON object in the body; null for anything else, invalid UTF-8 included. */
export function readRawDelivery({ headers, rawBody }: RawContent): RawDelivery | null {
  const { value, flaw } = readIncomingJson(rawBody, { mustBeUtf8: true }) ?? {};
  return isJsonObject(value) ? { headers, rawBody, body: value, isClear: flaw === null } : null;
}

/** Headers that tell where a delivery came from. Never `authorization` or `cookie`, unless a check needs them. */
const keptHeaders = ['content-type', 'user-agent', 'x-request-id'];
/** Longer values tell no more, and would make the journal grow. */
const maxHeaderLength = 1_024;

/** Seals body and headers under the webhook keys: JSON `{ body, headers }`, the body in base64. */
export function sealContent(
  sealer: Pick<Sealer, 'seal'>,
  key: ParkedDeliveryKey,
  { rawBody, headers }: RawContent,
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
): Promise<RawContent> {
  const content: unknown = JSON.parse(await sealer.unseal(sealed, parkedDeliveryId(key)));
  const body = ownValue(content, 'body');
  const headers = ownValue(content, 'headers');
  if (typeof body !== 'string' || !isJsonObject(headers))
    throw new FaretrailError('ContentUnreadable', 'the sealed content of a delivery is not in our form');
  return { rawBody: Buffer.from(body, 'base64'), headers: headers as IncomingHttpHeaders };
}
