/** What can be wrong with a delivery that a command asks for. */
export const deliveryFlaws = [
  /** Valid JSON of `bytes` in all. */
  'oversized',
  /** The same in chunks, without a length. */
  'oversizedChunked',
  'notJson',
  'empty',
  /** Bytes within a text that are no UTF-8. */
  'invalidUtf8',
  /** The usual fields, and one of lists 100,000 deep. */
  'deep',
  /** The usual fields behind `__proto__` and `constructor`, which name another order. */
  'prototypeKeys',
  /** The usual fields, each but the first time with another value. */
  'duplicateKeys',
  'wrongSecret',
  'noSecret',
  'wrongPath',
] as const;
export type DeliveryFlaw = (typeof deliveryFlaws)[number];

const depth = 100_000; // 200 kB of brackets: within what is accepted by size
const others = '"order_id":"another-order","status":"Completed","event_type":"another_event"';
const prototypeKeys = `"__proto__":{${others}},"constructor":{"prototype":{${others}}}`;

/** The bytes to send in place of `usual`, which is a JSON object; the same when the flaw is not in the body. */
export function flawedBody(flaw: DeliveryFlaw | undefined, usual: Buffer, bytes: number): Buffer {
  switch (flaw) {
    case 'oversized':
    case 'oversizedChunked':
      return inFront(usual, `"padding":"${'x'.repeat(Math.max(0, bytes - usual.length - 13))}"`);
    case 'notJson':
      return Buffer.from('status=Completed&order_id=1');
    case 'empty':
      return Buffer.alloc(0);
    case 'invalidUtf8':
      return withInvalidBytes(usual);
    case 'deep':
      return inFront(usual, `"deep":${'['.repeat(depth)}${']'.repeat(depth)}`);
    case 'prototypeKeys':
      return inFront(usual, prototypeKeys);
    case 'duplicateKeys':
      return inFront(usual, others);
    default:
      return usual;
  }
}

/** Written as text, since no object can hold such fields. */
const inFront = (usual: Buffer, fields: string): Buffer =>
  Buffer.concat([Buffer.from(`{${fields},`), usual.subarray(1)]);

/** Before the last quotation mark, so within a text. 0xFF and 0xFE stand nowhere in UTF-8 (RFC 3629 section 3). */
function withInvalidBytes(usual: Buffer): Buffer {
  const at = usual.lastIndexOf('"');
  return Buffer.concat([usual.subarray(0, at), Buffer.from([0xff, 0xfe]), usual.subarray(at)]);
}

/** An address that the ingress never made: one letter in the middle of the last segment is another. */
export function wrongPath(address: string): string {
  const start = address.lastIndexOf('/') + 1;
  const at = start + Math.floor((address.length - start) / 2);
  return `${address.slice(0, at)}${address[at] === 'x' ? 'y' : 'x'}${address.slice(at + 1)}`;
}
