import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidInput } from '../../../src/domain/errors.js';
import { toInstant } from '../../../src/domain/instant.js';
import { parseFollowOrderInput, readFollowRequest } from '../../../src/domain/order/input.js';
import { forAny } from '../../support/for-any.js';

const least = { account: 'partner', orderId: '4711' };

it('the input of followOrder of any JSON is read or refused, and a refusal never repeats a value', () => {
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
    expect(problems.map((line) => line.split(':')[0])).toEqual(['reference', 'scheduledAt', 'notify[0]', 'input']);
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

describe('an instant', () => {
  it.each([
    ['2031-05-01T08:30:00Z', '2031-05-01T08:30:00.000Z'],
    ['2031-05-01T08:30Z', '2031-05-01T08:30:00.000Z'],
    ['2031-05-01T08:30:00.123456Z', '2031-05-01T08:30:00.123Z'],
    ['2031-05-01T10:30:00+0200', '2031-05-01T08:30:00.000Z'],
  ])('%s is %s in UTC', (text, utc) => {
    expect(toInstant(text, 'at')).toBe(utc);
  });

  const otherForms = ['2031-05-01T08:30:00', '2031-05-01', ' 2031-05-01T08:30:00Z', '2031-05-01T08:30:00Z\n'];
  const beyondTheClock = ['2031-05-01T25:00:00Z', '2031-05-01T08:30:61Z', '2031-05-01T08:30:00+99:99'];
  const beyondTheYear = ['2031-13-01T08:30:00Z', '2031-05-32T08:30:00Z'];
  // V8 reads the first as 2 March.
  const beyondTheMonth = ['2031-02-30T08:30:00Z', '2031-02-29T08:30:00Z', '2031-04-31T08:30:00Z'];
  const others = ['20310501T083000Z', 'tomorrow', '', 1_900_000_000_000, null, new Date(0)];
  it.each([...otherForms, ...beyondTheClock, ...beyondTheYear, ...beyondTheMonth, ...others])('is not %j', (value) => {
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
