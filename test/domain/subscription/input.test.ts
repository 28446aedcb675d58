import { describe, expect, it } from 'vitest';
import { InvalidInput } from '../../../src/domain/errors.js';
import {
  parseEndInput,
  parseMoveInput,
  parseRotateInput,
  parseSubscriptionInput,
  toPublicUrl,
} from '../../../src/domain/subscription/input.js';

const input = { account: 'business', eventType: 'status_changed', publicUrl: 'https://rides.example' };

function refusal(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    if (error instanceof InvalidInput) return error.message;
    throw error;
  }
  return '';
}

describe('the input of a subscription', () => {
  it('is taken as it is', () => {
    expect(parseSubscriptionInput(input)).toEqual(input);
    const full = { ...input, resubscribe: true, graceMs: 0, silence: { everyMs: 60_000, minOrders: 1 } };
    expect(parseSubscriptionInput(full)).toEqual(full);
  });

  it('may say null for what is not set', () => {
    const nothing = { resubscribe: null, graceMs: null, silence: null };
    expect(parseSubscriptionInput({ ...input, ...nothing })).toEqual(input);
    expect(parseSubscriptionInput({ ...input, silence: { everyMs: null } })).toEqual({ ...input, silence: {} });
  });

  it.each([
    ['account', { account: 'Business!' }],
    ['eventType', { eventType: 'order_created' }],
    ['publicUrl', { publicUrl: 'http://rides.example' }],
    ['graceMs', { graceMs: -1 }],
    ['graceMs', { graceMs: 31 * 86_400_000 }],
    ['graceMs', { graceMs: '5' }],
    ['resubscribe', { resubscribe: 'yes' }],
    ['silence.everyMs', { silence: { everyMs: 0 } }],
    ['silence.minOrders', { silence: { minOrders: 0.5 } }],
    ['unknown field "every"', { silence: { every: 1 } }],
    ['unknown field "grace"', { grace: 1 }],
  ])('is refused, naming %s', (name, more) => {
    expect(refusal(() => parseSubscriptionInput({ ...input, ...more }))).toContain(name);
  });
});

describe('a public URL', () => {
  it.each([
    ['https://rides.example/', 'https://rides.example'],
    ['https://Rides.example:8443/base//', 'https://rides.example:8443/base'],
    ['http://127.0.0.1:8480', 'http://127.0.0.1:8480'],
    ['http://localhost:8480', 'http://localhost:8480'],
    ['http://[::1]:8480', 'http://[::1]:8480'],
  ])('%s is taken', (given, taken) => {
    expect(toPublicUrl(given)).toBe(taken);
  });

  it.each([
    'http://rides.example',
    'http://127.0.0.1.rides.example',
    'ftp://rides.example',
    'https://user:pass@rides.example',
    'https://rides.example?x=1',
    'https://rides.example#x',
    'https://rides.example/a b',
    `https://rides.example/${'a'.repeat(500)}`,
    'rides.example',
    '',
    7,
    null,
  ])('%s is refused, and not repeated in the message', (given) => {
    const message = refusal(() => toPublicUrl(given));
    expect(message).toContain('publicUrl');
    expect(message).not.toContain('pass');
  });
});

describe('the arguments of the updates', () => {
  it('are taken as they are', () => {
    expect(parseRotateInput(undefined)).toEqual({});
    expect(parseRotateInput({ graceMs: 5 })).toEqual({ graceMs: 5 });
    expect(parseMoveInput({ publicUrl: 'https://b.example/' })).toEqual({ publicUrl: 'https://b.example' });
    expect(parseEndInput({ reason: 'moved away' })).toEqual({ reason: 'moved away' });
  });

  it.each([
    () => parseRotateInput({ graceMs: 1.5 }),
    () => parseRotateInput([]),
    () => parseMoveInput({}),
    () => parseMoveInput(undefined),
    () => parseEndInput({}),
    () => parseEndInput({ reason: ' ' }),
    () => parseEndInput({ reason: 'x', force: true }),
  ])('are refused otherwise: %s', (parse) => {
    expect(parse).toThrow(InvalidInput);
  });
});
