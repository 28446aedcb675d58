import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject, ownValue, readIncomingJson } from '../contracts/json.js';
import { FaretrailError } from '../domain/errors.js';
import { shares } from '../domain/shares.js';
import { type ParkedDeliveryKey, parkedDeliveryId } from '../domain/workflow-ids.js';
import type { Sealer } from '../sealing/sealer.js';
import { packingOf, unpack } from '../unpacking.js';

/** What the sender sent. */
export interface RawContent {
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
}

/** A delivery before the ingress reads its fields. */
export interface RawDelivery extends RawContent {
  /** The body as it came, if that is not packed. */
  unpacked: Buffer;
  /** Any JSON value. */
  body: unknown;
  /** Do all JSON parsers read the same in it? */
  isClear: boolean;
}

/** Reads the JSON in the body; null for anything else, invalid UTF-8 included. */
export function readRawDelivery({ headers, rawBody }: RawContent, unpacked: Buffer): RawDelivery | null {
  const json = readIncomingJson(unpacked, { mustBeUtf8: true, limits: shares.body });
  // No parser reads what is far too deep, but it must at least have an end.
  const isCutShort = json?.flaw === 'TOO_DEEP' && !/[\]}]$/.test(unpacked.toString('latin1').trimEnd());
  return json && !isCutShort ? { headers, rawBody, unpacked, body: json.value, isClear: json.flaw === null } : null;
}

/** Brotli fills a window of 16 MB before it says that there is more, which takes 40 ms. So few bodies unpack at a time; the other threads
 *  are for the journal. */
const lanes: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];

type Unpacked = Buffer | 'tooLargeUnpacked' | 'notUnpackable';

/** The most that `FARETRAIL_DELIVERY_MAX_KB` allows, in bytes. */
const mostUnpacked = 262_144;

/** Unpacks a body, and stops at the size that a body may have. Never rejects. */
export async function unpackContent({ headers, rawBody }: RawContent, maxBytes = mostUnpacked): Promise<Unpacked> {
  const coding = headers['content-encoding'];
  if (packingOf(coding) === 'none') return rawBody;
  const unpacking = Promise.resolve(lanes.shift()).then(() => unpack(rawBody, coding, maxBytes));
  lanes.push(unpacking);
  const unpacked = await unpacking;
  return unpacked === 'tooLarge' ? 'tooLargeUnpacked' : unpacked;
}

/** Headers that tell where a delivery came from, and how to unpack it. Never `authorization` or `cookie`, unless a check needs them. */
const keptHeaders = ['content-type', 'content-encoding', 'user-agent', 'x-request-id'];
/** Longer values tell no more, and would make the journal grow. */
const maxHeaderLength = 1_024;

const keptOf = (headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' && value.length <= maxHeaderLength ? [[name, value]] : [];
    }),
  );

/** Seals body and headers under the webhook keys for a later check: JSON `{ body, headers }`, the body in base64. */
export function sealContent(
  sealer: Pick<Sealer, 'seal'>,
  key: ParkedDeliveryKey,
  { rawBody, headers }: RawContent,
  headersToCheck: readonly string[] = [],
): Promise<string> {
  const content = { body: rawBody.toString('base64'), headers: keptOf(headers, [...keptHeaders, ...headersToCheck]) };
  return sealer.seal(JSON.stringify(content), parkedDeliveryId(key));
}

/** What is known of a body that was cut: of the whole, unpacked. */
export interface CutBody {
  bytes: number;
  /** In hex. */
  sha256: string;
}

/** The same for a person: of a long body its beginning, unpacked, beside the size and the hash of the whole. */
export function sealForPerson(
  sealer: Pick<Sealer, 'seal'>,
  key: ParkedDeliveryKey,
  raw: RawContent & { unpacked: Buffer },
): Promise<string> {
  const { headers, rawBody, unpacked } = raw;
  const most = shares.parked.bodyBytes;
  if (Math.max(rawBody.length, unpacked.length) <= most) return sealContent(sealer, key, raw);
  const cut: CutBody = { bytes: unpacked.length, sha256: hash('sha256', unpacked, 'hex') };
  const { 'content-encoding': _packed, ...kept } = keptOf(headers, keptHeaders);
  const content = { body: beginning(unpacked, most).toString('base64'), headers: kept, cut };
  return sealer.seal(JSON.stringify(content), parkedDeliveryId(key));
}

/** At most so many bytes, without half a character of UTF-8 at the end. */
function beginning(text: Buffer, most: number): Buffer {
  let end = Math.min(most, text.length);
  while (end > most - 4 && ((text[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return text.subarray(0, end);
}

/** The inverse of `sealContent` and `sealForPerson`, unpacked. Throws `SealingError`, or `FaretrailError` `ContentUnreadable`. */
export async function openContent(sealer: Pick<Sealer, 'unseal'>, key: ParkedDeliveryKey, sealed: string) {
  const content: unknown = JSON.parse(await sealer.unseal(sealed, parkedDeliveryId(key)));
  const body = ownValue(content, 'body');
  const headers = ownValue(content, 'headers');
  const notOurs = () => new FaretrailError('ContentUnreadable', 'the sealed content of a delivery is not in our form');
  if (typeof body !== 'string' || !isJsonObject(headers)) throw notOurs();
  const raw: RawContent = { headers: headers as IncomingHttpHeaders, rawBody: Buffer.from(body, 'base64') };
  const unpacked = await unpackContent(raw);
  if (typeof unpacked === 'string') throw notOurs();
  return { ...raw, unpacked, cut: (ownValue(content, 'cut') ?? null) as CutBody | null };
}
