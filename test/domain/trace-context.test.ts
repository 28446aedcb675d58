import { expect, it } from 'vitest';
import { isTraceparent, readTraceHeader } from '../../src/domain/trace-context.js';

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';
const traceparent = `00-${trace}-${span}-01`;

const ofZeros = [`00-${'0'.repeat(32)}-${span}-01`, `00-${trace}-${'0'.repeat(16)}-01`];
const misspelt = [`00-${trace}-${span}`, `00-${trace.toUpperCase()}-${span}-01`, `${traceparent} and more`];
it.each([undefined, 7, '', ...ofZeros, ...misspelt])('%j is no traceparent', (value) => {
  expect(isTraceparent(value)).toBe(false);
});

const header = (content: unknown) => ({ data: new TextEncoder().encode(JSON.stringify(content)) });

it('a traceparent is all that goes on of what a caller sends in the header of a message', () => {
  const more = { tracestate: 'vendor=1', baggage: 'user=someone' };
  expect(readTraceHeader(header({ traceparent, ...more }))).toBe(traceparent);
});

it.each([
  ['no header', undefined],
  ['no data', { data: null }],
  ['no JSON', { data: new Uint8Array([255, 0, 7]) }],
  ['null', header(null)],
  ['a text', header(traceparent)],
  ['no traceparent', header({ traceparent: 'x' })],
  ['more than a caller may send', header({ traceparent, baggage: 'x'.repeat(20_000) })],
])('no trace goes on where a message brings %s', (_, payload) => {
  expect(readTraceHeader(payload)).toBeUndefined();
});
