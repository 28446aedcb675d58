/** The flaws that a command can give a delivery. */
export const deliveryFlaws = [
  /** Valid JSON, `bytes` long. */
  'oversized',
  /** The same, sent in chunks without a length. */
  'oversizedChunked',
  'notJson',
  'empty',
  /** A text with bytes that are no UTF-8. */
  'invalidUtf8',
  /** The usual fields, and a field with lists nested 10,000 deep. */
  'deep',
  /** In `message` the usual fields come after `__proto__` and `constructor`, which name another order. */
  'prototypeKeys',
  /** `message` has each field twice, with different values. */
  'duplicateKeys',
  /** Signed with another key. */
  'wrongSecret',
  'unsigned',
  'wrongPath',
] as const;
export type DeliveryFlaw = (typeof deliveryFlaws)[number];

const depth = 10_000; // 20 kB of brackets, below the largest body
const others = '"order_id":"another-order","status":"Completed"';
const prototypeKeys = `"__proto__":{${others}},"constructor":{"prototype":{${others}}}`;

/** The bytes to send instead of `usual`, a JSON object. The same bytes if the flaw is not in the body. */
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
      return inMessage(usual, prototypeKeys);
    case 'duplicateKeys':
      return inMessage(usual, others);
    default:
      return usual;
  }
}

/** As text, since no object can hold such fields. */
const inFront = (usual: Buffer, fields: string): Buffer =>
  Buffer.concat([Buffer.from(`{${fields},`), usual.subarray(1)]);

function inMessage(usual: Buffer, fields: string): Buffer {
  const body = JSON.parse(usual.toString()) as { message: string };
  return Buffer.from(JSON.stringify({ ...body, message: `{${fields},${body.message.slice(1)}` }));
}

/** Puts the bytes before the last quotation mark, and so into a text. UTF-8 has no 0xFF and 0xFE (RFC 3629 section 3). */
function withInvalidBytes(usual: Buffer): Buffer {
  const at = usual.lastIndexOf('"');
  return Buffer.concat([usual.subarray(0, at), Buffer.from([0xff, 0xfe]), usual.subarray(at)]);
}

/** An address that the ingress never made: it differs in one letter of the last segment. */
export function wrongPath(address: string): string {
  const start = address.lastIndexOf('/') + 1;
  const at = start + Math.floor((address.length - start) / 2);
  return `${address.slice(0, at)}${address[at] === 'x' ? 'y' : 'x'}${address.slice(at + 1)}`;
}
