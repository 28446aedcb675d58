import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changed, judgeOrder } from '../../src/cli/probe/judging.js';
import { parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { parseOrderReply } from '../../src/contracts/order-reply.js';
import { toOrderId } from '../../src/domain/keys.js';
import { isSameStatus, toKnownStatus } from '../../src/domain/order/status.js';

describe('an answer about an order', () => {
  const profile = parseContractProfile({});
  const judge = (body: unknown, status = 200) =>
    judgeOrder({ status, headers: {}, body }, { operation: 'orderDetails', orderId: toOrderId('42'), profile });
  const pointersIn = (body: unknown) =>
    judge(body).changes.flatMap((one) => (one.kind === 'pointer' ? [`${one.value} ${one.pointer}`] : []));

  it.each<[what: string, body: unknown, pointers: string[]]>([
    [
      'outside of lists',
      { ride: { ref: '42', state: 'Driving', stops: [{ state: 'Waiting' }] } },
      ['orderId /ride/ref', 'status /ride/state'],
    ],
    ['without the id of the order beside it', { ride: { state: 'Driving' } }, []],
    [
      'in a list alone',
      { rides: [{ ref: '42', state: 'Driving' }] },
      ['orderId /rides/0/ref', 'status /rides/0/state'],
    ],
    [
      'in another spelling, with an id that is a number',
      { o: { no: 42, s: 'ACTIVE_ORDER' } },
      ['orderId /o/no', 'status /o/s'],
    ],
    [
      'beside the id, while another place has a known word',
      { o: { no: '42', s: 'Waiting' }, pay: { s: 'Completed' } },
      ['orderId /o/no', 'status /o/s'],
    ],
    ['below a name that may be a value', { '4711000': { state: 'Driving' } }, []],
  ])('has its status %s', (_, body, pointers) => {
    expect(pointersIn(body)).toEqual(pointers);
  });

  it('with a word that we do not know stays open, and its path is proven', () => {
    const said = judge({ id: '42', status: 'EnRoute', supplier: { status: 'Confirmed' } });
    expect(said).toMatchObject({ verdict: 'open', changes: [{ kind: 'verified' }], matched: { isKnownStatus: false } });
    expect(said.remarks).toEqual([
      'the word "EnRoute" at /status is no status that we know; known words stand at /supplier/status; if it is an end, set statuses.endWords',
    ]);
  });

  it('with a value that is no plain word is judged without showing it', () => {
    const [remark] = judge({ id: '42', status: 'Pat Example' }).remarks;
    expect(remark).toMatch(/^the word at \/status is no status that we know/);
  });

  it('with a known word around the order leaves the status to a person', () => {
    const said = judge({ status: 'Completed', ride: { id: '42', state: 'Driving' } });
    expect(said).toMatchObject({
      verdict: 'wrong',
      remarks: expect.arrayContaining([expect.stringContaining('/ride/state')]),
    });
    expect(said.changes).not.toContainEqual(expect.objectContaining({ value: 'status' }));
  });

  it('with several places for the id names them, and stays open', () => {
    const said = judge({ status: 'Driving', a: '42', b: '42' });
    expect(said).toMatchObject({ verdict: 'open', remarks: [expect.stringContaining('/a, /b')] });
  });
});

/** A body as a service may make it: an order under other names in other objects, and words of other things around it. */
const strangeBody = fc.record({
  under: fc.array(fc.constantFrom('order', 'data', 'result', 'ride', 'trip', 'value'), { maxLength: 3 }),
  inList: fc.boolean(),
  idName: fc.option(fc.constantFrom('id', 'order_id', 'orderId', 'uuid', 'ref', 'number')),
  wordName: fc.constantFrom('status', 'state', 'phase', 'order_status', 'rideStatus', 'current_status', 'code'),
  words: fc.constantFrom('ours', 'lower', 'foreign'),
  decoys: fc.subarray(['payment', 'history', 'driver', 'message', 'echo', 'paymentStatus'] as const),
});
type StrangeBody = typeof strangeBody extends fc.Arbitrary<infer Body> ? Body : never;

const foreign: Record<string, string> = { Driving: 'unterwegs', Waiting: 'wartet', Cancelled: 'storniert' };
const inWordsOf = ({ words }: StrangeBody, status: string): string => {
  if (words === 'foreign') return foreign[status] ?? status;
  return words === 'lower' ? status.toLowerCase() : status;
};

function bodyOf(strange: StrangeBody, status: string): object {
  const { under, inList, idName, wordName, decoys } = strange;
  const has = (decoy: StrangeBody['decoys'][number]): boolean => decoys.includes(decoy);
  const order = {
    ...(idName === null ? {} : { [idName]: '42' }),
    [wordName]: inWordsOf(strange, status),
    stops: [{ progress_status: 'Completed', actions: [{ status: 'Confirmed' }] }],
    ...(has('payment') ? { payment: { status: 'Completed', id: 'p-1' } } : {}),
    ...(has('history') ? { history: [{ status: 'Routing' }, { status: 'Confirmed' }] } : {}),
    ...(has('driver') ? { driver_info: { state: 'Waiting', id: 'd-1' } } : {}),
  };
  const inner = under.reduceRight<object>((body, name) => ({ [name]: body }), order);
  return {
    ...(has('message') ? { status: 'fine', id: 'm-1' } : {}),
    ...(has('echo') ? { meta: { order_id: '42' } } : {}),
    ...(has('paymentStatus') ? { payment_status: 'Completed' } : {}),
    ...(inList && under.length > 0 ? { items: [inner] } : inner),
  };
}

/** Where the message is in the order's own object, a person must tell one status from the other. */
const isClear = ({ idName, under, decoys, words }: StrangeBody): boolean =>
  words !== 'foreign' && idName !== null && (under.length > 0 || !decoys.includes('message'));

describe('a proposal', () => {
  const profile = parseContractProfile({});
  const asked = { operation: 'orderDetails' as const, orderId: toOrderId('42') };

  /** The statuses of the order that the proposed profile reads while it goes on; null where it cannot read them. */
  function readAfterProbe(strange: StrangeBody): { verdict: string; statuses: (string | null)[] } {
    const { verdict, changes } = judgeOrder(
      { status: 200, headers: {}, body: bodyOf(strange, 'Driving') },
      { ...asked, profile },
    );
    const { pointers, statuses } = changes.reduce((before, one) => changed(before, one, '2026-05-01'), profile);
    const read = (word: string): string | null => {
      try {
        return parseOrderReply(bodyOf(strange, word), pointers.orderDetails, statuses, asked.orderId).status;
      } catch {
        return null;
      }
    };
    return { verdict, statuses: ['Driving', 'Waiting', 'Cancelled'].map(read) };
  }

  const isRight = (strange: StrangeBody, { statuses }: { statuses: (string | null)[] }): boolean =>
    ['Driving', 'Waiting', 'Cancelled'].every((word, at) =>
      isSameStatus(statuses[at] ?? null, inWordsOf(strange, word)),
    );

  it("is right, or leaves the order unread or with a word that ends nothing: never another thing's status", () => {
    fc.assert(
      fc.property(strangeBody, (strange) => {
        const read = readAfterProbe(strange);
        const isHarmless = read.statuses.every((status) => status === null || toKnownStatus(status) === undefined);
        expect(
          isRight(strange, read) || (isHarmless && read.verdict !== 'fits'),
          JSON.stringify(bodyOf(strange, 'Driving')),
        ).toBe(true);
      }),
      { numRuns: 1_000, seed: 18 },
    );
  });

  it('is right in nine of ten bodies that name the order beside its status, with a message around it', () => {
    const bodies = fc.sample(strangeBody, { numRuns: 1_000, seed: 18 }).filter(isClear);
    expect(
      bodies.filter((strange) => isRight(strange, readAfterProbe(strange))).length / bodies.length,
    ).toBeGreaterThan(0.9);
  });
});
