import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidInput } from '../../../src/domain/errors.js';
import { toInstant } from '../../../src/domain/instant.js';
import {
  fillInput,
  parseFollowOrderInput,
  parseFollowRequest,
  readFollowRequest,
  toEarlierRunId,
} from '../../../src/domain/order/input.js';
import { forAny } from '../../support/for-any.js';

const least = { account: 'partner', orderId: '4711' };

function refusalOfInput(input: unknown): string {
  try {
    parseFollowOrderInput(input);
  } catch (error) {
    if (error instanceof InvalidInput) return error.message;
    throw error;
  }
  throw new Error('was not refused');
}

describe('the input of followOrder', () => {
  it('needs only an account and an order id, which may be a number', () => {
    expect(parseFollowOrderInput(least)).toEqual(least);
    expect(parseFollowOrderInput({ ...least, orderId: 4711 })).toEqual(least);
  });

  it('keeps every field that is given', () => {
    const full = {
      ...least,
      reference: 'booking 9',
      scheduledAt: '2031-05-01T08:30:00.000Z',
      notify: [{ workflowId: 'trip/9', signal: 'orderChanged' }],
      followForMs: 60_000,
    };
    expect(parseFollowOrderInput(full)).toEqual(full);
  });

  it.each(['reference', 'scheduledAt', 'notify', 'followForMs'])('takes null for %s as "not set"', (field) => {
    expect(parseFollowOrderInput({ ...least, [field]: null })).toEqual(least);
    expect(parseFollowOrderInput({ ...least, [field]: undefined })).toEqual(least);
  });

  it.each([
    ['account', undefined],
    ['account', null],
    ['account', 'Not A Name'],
    ['orderId', undefined],
    ['orderId', null],
    ['orderId', ''],
    ['orderId', 'a/b'],
    ['reference', ''],
    ['reference', 7],
    ['reference', 'x'.repeat(201)],
    ['scheduledAt', '2031-05-01'],
    ['scheduledAt', 1_900_000_000],
    ['notify', {}],
    ['notify', 'trip/9'],
    ['notify', Array.from({ length: 11 }, () => ({ workflowId: 'a', signal: 'b' }))],
    ['followForMs', '60000'],
    ['followForMs', 999],
    ['followForMs', 1000.5],
    ['followForMs', -1],
    ['followForMs', Number.NaN],
    ['followForMs', 400 * 86_400_000 + 1],
  ])('is refused by the name of the field: %s of %j', (field, value) => {
    expect(refusalOfInput({ ...least, [field]: value })).toMatch(new RegExp(`^${field}: must`));
  });

  it.each([
    [null, 'notify[1]: must be a JSON object'],
    [[], 'notify[1]: must be a JSON object'],
    [{ signal: 'changed' }, 'notify[1].workflowId: must be a text'],
    [{ workflowId: 'trip/9', signal: '' }, 'notify[1].signal: must be a text'],
    [{ workflowId: 'trip/9', signal: 'changed', queue: 'q' }, 'notify[1]: unknown field "queue"'],
    [
      { url: 'https://hooks.example/x', signal: 'changed' },
      'notify[1]: must have either url, or workflowId and signal',
    ],
    [{ url: 7 }, 'notify[1].url: must be an https URL'],
  ])('names the entry of notify that is wrong: %j', (entry, message) => {
    const good = { workflowId: 'trip/8', signal: 'changed' };
    expect(refusalOfInput({ ...least, notify: [good, entry] })).toContain(message);
  });

  it.each([
    [{ url: 'https://hooks.example/x?shop=9' }, { url: 'https://hooks.example/x?shop=9' }],
    [{ url: 'http://127.0.0.1:9000/' }, { url: 'http://127.0.0.1:9000/' }],
    [{ url: 'https://Hooks.example', workflowId: null, signal: null }, { url: 'https://hooks.example/' }],
    [
      { workflowId: 'trip/9', signal: 'changed', url: null },
      { workflowId: 'trip/9', signal: 'changed' },
    ],
  ])('takes a URL or a workflow for a receiver, and null for "not set": %j', (given, taken) => {
    expect(parseFollowOrderInput({ ...least, notify: [given] }).notify).toEqual([taken]);
  });

  it.each([
    'http://hooks.example/SECRET',
    'https://user:SECRET@hooks.example/',
    'https://SECRET@hooks.example/',
    'https://hooks.example/#SECRET',
    'https://hooks.example/ SECRET',
    'ftp://hooks.example/SECRET',
    'SECRET',
    '',
    `https://hooks.example/${'SECRET'.repeat(400)}`,
  ])('refuses the URL %s without repeating it', (url) => {
    const refusal = refusalOfInput({ ...least, notify: [{ url }] });
    expect(refusal).toMatch(/^notify\[0\]\.url: must be an https URL/);
    expect(refusal).not.toContain('SECRET');
  });

  it.each(['scheduled_at', 'Account', 'constructor', '__proto__'])(
    'is refused with the known names when it has the field %s',
    (field) => {
      const input: unknown = JSON.parse(`{"account":"partner","orderId":"4711","${field}":1}`);
      expect(refusalOfInput(input)).toBe(
        `input: unknown field "${field}"; known are account, orderId, reference, scheduledAt, notify, followForMs`,
      );
    },
  );

  it('is refused without repeating what cannot be shown, or half a character, of an unknown field', () => {
    const refusal = refusalOfInput({ ...least, [`\u0000${'x'.repeat(38)}\u{1F695}`]: 1 });
    expect(refusal).toContain(`unknown field "\uFFFD${'x'.repeat(38)}\uFFFD"`);
  });

  it.each(['\u0000', 'a\nb', '\u202Ea', '\uD800', 'a\uFEFF'])('has no receiver with the name %j', (name) => {
    const receiver = { workflowId: 'trip/9', signal: 'orderChanged' };
    for (const field of ['workflowId', 'signal']) {
      expect(refusalOfInput({ ...least, notify: [{ ...receiver, [field]: name }] })).toBe(
        `notify[0].${field}: must not hold control or format characters`,
      );
    }
  });

  it.each([null, undefined, 'partner', 7, [], [least], true])('is not %j', (input) => {
    expect(refusalOfInput(input)).toBe('input: must be a JSON object');
  });

  it('of any JSON is read or refused, and a refusal never repeats a value', () => {
    const fields = ['account', 'orderId', 'reference', 'scheduledAt', 'notify', 'followForMs'];
    const secret = 'SECRET/\u0000VALUE'.repeat(20);
    const values = fc.oneof(fc.jsonValue(), fc.constantFrom(secret, [secret], { url: secret }, [{ url: secret }]));
    const inputs = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...fields), values));
    forAny(inputs, (input) => {
      try {
        expect(Object.keys(parseFollowOrderInput(input)).every((key) => fields.includes(key))).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidInput);
        expect((error as Error).message).not.toContain('SECRET');
      }
    });
  });

  it('that was read once is read again as the same', () => {
    const input = { ...least, scheduledAt: '2031-05-01T08:30+02:00', reference: 'x', followForMs: 5_000 };
    const read = parseFollowOrderInput(input);
    expect(parseFollowOrderInput(JSON.parse(JSON.stringify(read)))).toEqual(read);
  });
});

describe('what a run can read of followRequested', () => {
  const receiver = { workflowId: 'trip/1', signal: 's' };

  it('is all that it says', () => {
    const request = { reference: 'r', scheduledAt: '2031-05-01T08:30:00.000Z', followForMs: 5_000, notify: [receiver] };
    expect(readFollowRequest(request)).toEqual({ request, problems: [] });
    expect(readFollowRequest({ reference: null, notify: null })).toEqual({ request: {}, problems: [] });
    expect(readFollowRequest({})).toEqual({ request: {}, problems: [] });
  });

  it('is not lost with a part that cannot be read', () => {
    const bad = { reference: 7, scheduledAt: 'soon', followForMs: 5_000, notify: [receiver, 'x', receiver], more: 1 };
    const { request, problems } = readFollowRequest(bad);
    expect(request).toEqual({ followForMs: 5_000, notify: [receiver, receiver] });
    expect(problems.map((line) => line.split(':')[0])).toEqual(['input', 'reference', 'scheduledAt', 'notify[1]']);
  });

  it('takes more receivers than an input, since a ride adds itself to those of its caller', () => {
    const notify = Array.from({ length: 11 }, (_, index) => ({ workflowId: `trip/${index}`, signal: 's' }));
    expect(readFollowRequest({ notify })).toEqual({ request: { notify }, problems: [] });
  });

  it.each([null, undefined, 'x', 7, [], [receiver], { notify: 'no list' }])('is nothing of %j', (value) => {
    const { request, problems } = readFollowRequest(value);
    expect(request).toEqual({});
    expect(problems).toHaveLength(1);
  });

  it('of any JSON is a request that the input of a run may hold', () => {
    const fields = ['reference', 'scheduledAt', 'notify', 'followForMs'];
    const values = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...fields), fc.jsonValue()));
    forAny(values, (value) => {
      const { notify: _, ...request } = readFollowRequest(value).request;
      expect(parseFollowOrderInput({ ...least, ...request })).toEqual({ ...least, ...request });
    });
  });
});

it('an input takes from a request what it does not say, and keeps what it says', () => {
  const input = parseFollowOrderInput({ ...least, reference: 'first' });
  const request = parseFollowRequest({ reference: 'second', followForMs: 5_000, notify: [] });
  expect(fillInput(input, request)).toEqual({ ...least, reference: 'first', followForMs: 5_000 });
});

it('an earlier run is named by its run id', () => {
  const runId = '0198c3a4-1b2c-7d3e-8f40-5a6b7c8d9e0f';
  expect(toEarlierRunId(runId)).toBe(runId);
  for (const value of ['', 'x', 7, null, {}, `${runId} `])
    expect(() => toEarlierRunId(value)).toThrow(/^continues: must be the run id/);
});

describe('an instant', () => {
  it.each([
    ['2031-05-01T08:30:00Z', '2031-05-01T08:30:00.000Z'],
    ['2031-05-01T08:30Z', '2031-05-01T08:30:00.000Z'],
    ['2031-05-01T08:30:00.123456Z', '2031-05-01T08:30:00.123Z'],
    ['2031-05-01T10:30:00+02:00', '2031-05-01T08:30:00.000Z'],
    ['2031-05-01T10:30:00+0200', '2031-05-01T08:30:00.000Z'],
    ['2031-04-30T22:30:00-10:00', '2031-05-01T08:30:00.000Z'],
    ['2032-02-29T00:00:00Z', '2032-02-29T00:00:00.000Z'],
  ])('%s is %s in UTC', (text, utc) => {
    expect(toInstant(text, 'at')).toBe(utc);
  });

  it.each([
    '2031-05-01T08:30:00',
    '2031-05-01',
    '2031-13-01T08:30:00Z',
    '2031-05-32T08:30:00Z',
    '2031-05-01T25:00:00Z',
    '2031-05-01T08:30:61Z',
    '2031-05-01T08:30:00+99:99',
    ' 2031-05-01T08:30:00Z',
    '2031-05-01T08:30:00Z\n',
    '20310501T083000Z',
    'tomorrow',
    '',
    1_900_000_000_000,
    null,
    new Date(0),
    ...['2031-02-30T08:30:00Z', '2031-02-29T08:30:00Z', '2031-04-31T08:30:00Z'], // V8 reads the first as 2 March
  ])('is not %j', (value) => {
    expect(() => toInstant(value, 'scheduledAt')).toThrow(/^scheduledAt: must be an ISO 8601 instant/);
  });

  it('is the same instant after it was brought to UTC', () => {
    const minutes = fc.integer({ min: -12 * 60, max: 14 * 60 });
    const dates = fc.date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true });
    const two = (value: number): string => String(value).padStart(2, '0');
    forAny(dates, minutes, (date, offset) => {
      const local = new Date(date.getTime() + offset * 60_000).toISOString().slice(0, -1);
      const size = Math.abs(offset);
      const text = `${local}${offset < 0 ? '-' : '+'}${two(Math.trunc(size / 60))}:${two(size % 60)}`;
      expect(toInstant(text, 'at')).toBe(date.toISOString());
    });
  });
});
