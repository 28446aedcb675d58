import { expect, it, onTestFinished, vi } from 'vitest';
import { pointersWhere } from '../../src/contracts/body-shape.js';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { valueAt } from '../../src/contracts/json.js';
import { parseOrderReply } from '../../src/contracts/order-reply.js';
import { toOrderId } from '../../src/domain/keys.js';
import { aStand } from './ingress-stand.js';

const order = { order_id: 4711, status: 'Driving' };
const inText = JSON.stringify(order);
const based = (text: string) => Buffer.from(text).toString('base64');
const urlSafe = (text: string) => Buffer.from(text).toString('base64url');
const deep = `{"order_id":1,"more":${'['.repeat(70)}${']'.repeat(70)}}`;
const many = JSON.stringify({
  ...order,
  ...Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`f${n}`, n])),
});
const twice = { orderId: ['/message/data/order_id'] };
const inData = JSON.stringify({ data: inText });
const thrice = { orderId: ['/message/data/data/order_id'] };

/** Each row: the message of a delivery, the answer, what is kept of it (its order, or why it is parked), and where the profile looks. */
const rows: [string, unknown, number, string | null, { orderId: string[] }?][] = [
  ['JSON in a text', inText, 202, '4711'],
  ['JSON in a text, with white space around', ` \n${inText}\r\n`, 202, '4711'],
  ['JSON in base64', based(inText), 202, '4711'],
  ['JSON in url-safe base64 without padding', urlSafe('{"order_id":"ä??>>~","status":"x"}'), 202, 'ä??>>~'],
  ['an object that is no text', order, 202, '4711'],
  ['JSON in JSON', inData, 202, '4711', twice],
  ['base64 of JSON with base64 of JSON', based(JSON.stringify({ data: urlSafe(inText) })), 202, '4711', twice],
  ['no JSON', 'The ride has begun', 202, 'noOrderId'],
  ['JSON cut short', inText.slice(0, -1), 202, 'noOrderId'],
  ['a text', '"5"', 202, 'noOrderId'],
  ['a list', '[]', 202, 'noOrderId'],
  ['null', 'null', 202, 'noOrderId'],
  ['a JSON text of a JSON text', JSON.stringify(inText), 202, 'noOrderId'],
  ['JSON three deep', JSON.stringify({ data: inData }), 202, 'noOrderId', thrice],
  ['1,500 members', many, 202, '4711'],
  ['4,001 members', `{"order_id":1,"n":[${'0,'.repeat(4_001)}0]}`, 202, 'ambiguousBody'],
  ['201 long numbers', `{"order_id":1,"n":[${'9007199254740993,'.repeat(201)}0]}`, 202, 'ambiguousBody'],
  ['a name twice', '{"order_id":1,"order_id":2,"status":"Driving"}', 202, 'ambiguousBody'],
  ['a name twice, in base64', based('{"order_id":1,"order_id":2}'), 202, 'ambiguousBody'],
  ['a strange name', '{"order_id":1,"__proto__":{"order_id":2}}', 202, 'ambiguousBody'],
  ['JSON nested too deep', deep, 202, 'ambiguousBody'],
  ['an id of 20 digits', '{"order_id":12345678901234567890,"status":"Driving"}', 202, '12345678901234567890'],
  ['another company', JSON.stringify({ ...order, business_id: 'another' }), 202, 'otherCompany'],
  ['an inner text of 40 kB', JSON.stringify({ ...order, pad: 'x'.repeat(40_000) }), 413, null],
  ['base64 of rubbish', based('rubbish'), 202, 'noOrderId'],
  ['base64 of what is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]).toString('base64'), 202, 'noOrderId'],
  ['a NUL in the id', '{"order_id":"47\\u000011"}', 202, 'orderIdUnusable'],
  ['a NUL between', '{"order_id":\u00004711}', 202, 'noOrderId'],
  ['half of a surrogate pair in the status', '{"order_id":4711,"status":"\\ud800"}', 202, '4711'],
  ['half of a surrogate pair in the id', '{"order_id":"\\udfff"}', 202, '\ufffd'],
];

it.each(rows)('a message that is %s', async (_name, message, status, kept, orderId) => {
  const stand = await aStand(orderId && { pointers: orderId });
  const answer = await stand.post(JSON.stringify({ id: 'e-1', event_type: 'status_changed', message }));
  expect(answer.status).toBe(status);
  const short = stand.store.deliveries.map((one) => one.parkReason ?? one.orderId);
  expect(short).toEqual(kept === null ? [] : [kept]);
  for (const one of stand.store.deliveries) {
    if (one.parkReason !== undefined) expect(one.sealed, 'a person can read it').toBeTruthy();
    expect(JSON.stringify(one).isWellFormed()).toBe(true);
  }
  expect(stand.failures).toEqual([]);
});

it('a text is parsed once however many pointers step into it, and not at all where none does', () => {
  const body = { message: inData, other: inText, words: 'Test me' };
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  expect([valueAt(body, '/message'), valueAt(body, '/words/status')]).toEqual([inData, undefined]);
  expect(parse).not.toHaveBeenCalled();
  for (const name of ['status', 'order_id', 'none']) valueAt(body, `/message/data/${name}`);
  expect(valueAt(body, '/message/data/status')).toBe('Driving');
  expect(parse).toHaveBeenCalledTimes(2);
});

it('an answer of the service is read in texts as a delivery is, and not where a text is ambiguous', () => {
  const at = { orderId: ['/result/id'], status: ['/result/status'] };
  const reply = (result: string) => parseOrderReply({ result }, at, defaultContractProfile.statuses, toOrderId('4711'));
  const found = reply(
    '{"id":4711,"status":"driving","supplier":{"code":7,"name":"x"},"scheduled_at":"2031-05-01T10:00:00Z"}',
  );
  expect(found).toMatchObject({ status: 'Driving', details: { scheduledAt: '2031-05-01T10:00:00Z' } });
  expect(() => reply('{"id":4712,"status":"Driving"}')).toThrow('ORDER_MISMATCH');
  expect(() => reply('{"id":4711,"status":"Driving","status":"Completed"}')).toThrow('UNREADABLE_STATUS');
  const large = JSON.stringify({ id: 4711, status: 'Driving', pad: 'x'.repeat(256 * 1024) });
  expect(() => reply(large)).toThrow('UNREADABLE_STATUS');
});

it('probe finds the places of an order in a text', () => {
  const body = { n: '1', result: inData };
  const isId = (value: unknown) => String(value) === '4711';
  expect(pointersWhere(body, isId)).toEqual(['/result/data/order_id']);
  expect(valueAt(body, '/result/data/order_id')).toBe(4711);
  expect(pointersWhere({ result: JSON.stringify({ data: inData }) }, isId), 'no reader steps so deep').toEqual([]);
});
