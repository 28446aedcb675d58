import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changed, changeText, judgeOrder } from '../../src/cli/probe/judging.js';
import { overridesOf, parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { parseOrderReply } from '../../src/contracts/order-reply.js';
import { toOrderId } from '../../src/domain/keys.js';
import { isSameStatus, toKnownStatus } from '../../src/domain/order/status.js';

describe('an answer about an order', () => {
  const profile = parseContractProfile({});
  const judge = (body: unknown, status = 200, by = profile) =>
    judgeOrder({ status, headers: {}, body }, { operation: 'orderDetails', orderId: toOrderId('42'), profile: by });
  const bare = (status: string) => ({ id: '42', status, stops: [{ status: 'Confirmed' }, { status: 'Pending' }] });

  it.each<[what: string, bodyWith: (status: string) => unknown, httpStatus?: number]>([
    ['in other objects', (word) => ({ result: { ride: bare(word) } })],
    ['under another name', (word) => ({ id: '42', state: word })],
    ['beside an id of another name', (word) => ({ ref: '42', phase: word })],
    ['around it a message', (word) => ({ id: 'm-1', status: 'fine', ride: bare(word) })],
    ['with another success code', bare, 203],
    ['in a list alone', (word) => ({ rides: [{ ref: '42', state: word }] })],
    ['beside an id that is a number', (word) => ({ o: { no: 42, s: word } })],
    ['beside the status of something else', (word) => ({ o: bare(word), pay: { state: 'Completed' } })],
  ])('has its status %s: the proposed profile reads it, and then fits', (_, bodyWith, httpStatus = 200) => {
    const said = judge(bodyWith('Driving'), httpStatus);
    expect(said.verdict).toBe('wrong');
    const proposed = said.changes.reduce(changed, profile);
    expect(proposed.operations.orderDetails.source).toBe('verified');
    for (const status of ['Driving', 'Completed']) {
      const { pointers, statuses } = proposed;
      const read = parseOrderReply(bodyWith(status), pointers.orderDetails, statuses, toOrderId('42'));
      expect(read).toMatchObject({ status, terminal: status === 'Completed' });
    }
    expect(judge(bodyWith('Driving'), httpStatus, proposed).verdict).toBe('fits');
  });

  const order = (body: object) => ({ order: body });
  it.each<[what: string, httpStatus: number, body: unknown, remark: RegExp]>([
    ['is not there', 404, {}, /check the order id; .*operations\.orderDetails\.path/],
    ['is forbidden', 403, {}, /check the id of the company, operations\.orderDetails\.scope/],
    ['needs another token', 401, {}, /operations\.orderDetails\.scope/],
    ['needs another method', 405, undefined, /operations\.orderDetails\.path and .*\.method/],
    ['is elsewhere', 302, undefined, /HTTP 302.*operations\.orderDetails\.path/],
    ['is an error in a success', 200, { status: 'error', error: { code: 'x' } }, /operations\.orderDetails\.path/],
    ['is empty', 200, undefined, /no place that we know fits pointers\.orderDetails\.status/],
    ['has no word that we know', 200, order({ id: '42', zustand: 'unterwegs' }), /status: a person/],
    ['has a status without the id beside it', 200, { ride: { state: 'Driving' } }, /status: a person/],
    ['is below a name that may be a value', 200, { '4711000': { ref: '42', state: 'Driving' } }, /status: a person/],
    ['is about another order', 200, order({ id: 'x', status: 'Driving' }), /another id than that of the order/],
    ['has two places', 200, { a: { s: 'Driving' }, b: { s: 'Waiting' } }, /\/a\/s, \/b\/s may be right.*a person/],
  ])('%s: names what a person must look at, and proposes nothing', (_, httpStatus, body, remark) => {
    const { verdict, remarks, changes } = judge(body, httpStatus);
    expect({ verdict, changes }).toEqual({ verdict: 'wrong', changes: [] });
    expect(remarks.join('\n')).toMatch(remark);
  });

  it('with a word that we do not know stays open, and its path is proven', () => {
    const said = judge({ id: '42', status: 'EnRoute', supplier: { status: 'Confirmed' } });
    expect(said).toMatchObject({ verdict: 'open', changes: [{ kind: 'verified' }], matched: { isKnownStatus: false } });
    expect(said.remarks).toEqual([
      'the word "EnRoute" at /status is no status that we know; known words stand at /supplier/status; set what it means in statuses.words',
    ]);
  });

  it.each([
    ['REQUESTED', 'Pending', { id: '42', status: 'REQUESTED', supplier: { status: 'Confirmed' } }],
    ['In Progress', 'Driving', { order: { id: '42', status: 'In Progress' } }],
    ['finished', 'Completed', { status: 'finished' }],
  ] as const)('with the word %s proposes that it means %s, and then fits', (word, status, body) => {
    const said = judge(body);
    expect(said).toMatchObject({ verdict: 'wrong', remarks: [expect.stringContaining(`probably means ${status}`)] });
    expect(said.changes[0]).toEqual({ kind: 'word', word, status });
    expect(changeText({ kind: 'word', word, status })).toBe(`statuses.words: add "${word}": "${status}"`);
    const proposed = parseContractProfile(overridesOf(said.changes.reduce(changed, profile)));
    expect(proposed).toMatchObject({
      statuses: { words: { [word]: status } },
      operations: { orderDetails: { source: 'verified' } },
    });
    expect(judge(body, 200, proposed)).toMatchObject({ verdict: 'fits', matched: { isKnownStatus: true } });
  });

  const strange = (word: string) => ({
    payload: { order: { number: 42, status_name: word, stops: [{ progress_status: 'Pending' }] } },
  });

  it.each([
    ['on_trip', 'probably means Driving'],
    ['gone_to_lunch', 'is no status that we know; set what it means in statuses.words'],
  ])('with the word %s under the name of a status beside the id proposes the place', (word, remark) => {
    const said = judge(strange(word));
    expect(said).toMatchObject({
      verdict: 'wrong',
      remarks: expect.arrayContaining([expect.stringContaining(remark)]),
    });
    expect(said.remarks.join()).not.toContain('progress_status');
    const proposed = said.changes.reduce(changed, profile);
    expect(proposed.pointers.orderDetails.status[0]).toBe('/payload/order/status_name');
    const fits = word === 'on_trip';
    expect(judge(strange(word), 200, proposed)).toMatchObject({ verdict: fits ? 'fits' : 'open' });
  });

  it('with two such names beside the id names both, and proposes neither', () => {
    const { changes, remarks } = judge({ id: '42', state: 'NY', status_name: 'on_trip' });
    expect(changes).toEqual([]);
    expect(remarks.join()).toMatch(/\/state, \/status_name may be right.*a person must decide/);
  });

  it('with a word of the trade under a name that a person chose proposes what it means', () => {
    const chosen = parseContractProfile({ pointers: { orderDetails: { status: ['/zustand'] } } });
    expect(judge({ id: '42', zustand: 'on_trip' }, 200, chosen).changes[0]).toMatchObject({ status: 'Driving' });
  });

  it('with such a word at a doubtful place proposes nothing', () => {
    const said = judge({ order_status: 'requested', ride: { no: '42' } });
    expect(said.changes).not.toContainEqual(expect.objectContaining({ kind: 'word' }));
  });

  it('with a value that is no plain word is judged without showing it', () => {
    const [remark] = judge({ id: '42', status: 'Pat Example' }).remarks;
    expect(remark).toMatch(/^the word at \/status is no status that we know/);
  });

  it('with a known word around the order leaves the status to a person', () => {
    const said = judge({ status: 'Completed', ride: { id: '42', state: 'Driving' } });
    expect(said.verdict).toBe('wrong');
    expect(said.remarks.join()).toContain('/ride/state');
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

describe('a proposal', () => {
  const profile = parseContractProfile({});
  const asked = { operation: 'orderDetails' as const, orderId: toOrderId('42') };

  /** The statuses of the order that the proposed profile reads while it goes on; null where it cannot read them. */
  function readAfterProbe(strange: StrangeBody): { verdict: string; statuses: (string | null)[] } {
    const reply = { status: 200, headers: {}, body: bodyOf(strange, 'Driving') };
    const { verdict, changes } = judgeOrder(reply, { ...asked, profile });
    const { pointers, statuses } = changes.reduce((before, one) => changed(before, one), profile);
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
        const isFine = isRight(strange, read) || (isHarmless && read.verdict !== 'fits');
        expect(isFine, JSON.stringify(bodyOf(strange, 'Driving'))).toBe(true);
      }),
      { numRuns: 1_000, seed: 18 },
    );
  });
});
