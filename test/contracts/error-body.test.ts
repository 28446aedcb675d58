import { describe, expect, it } from 'vitest';
import { isErrorEnvelope, parseErrorBody } from '../../src/contracts/error-body.js';
import assumed from '../fixtures/error-bodies.assumed.json' with { type: 'json' };

describe('an error body', () => {
  it('gives its code in the shape of RFC 6749', () => {
    expect(parseErrorBody(assumed.rfc6749)).toEqual({ code: 'invalid_client', requestId: null });
  });

  it('gives code and request id in the envelope, and nothing else', () => {
    const requestId = '0b9d2c3e-0000-4000-8000-000000000001';
    expect(parseErrorBody(assumed.envelope)).toEqual({ code: 'VALIDATION_ERROR', requestId });
  });

  const noBodies = [undefined, null, '<html>', [], {}];
  const noCodes = [7, null, 'a sentence about +15550100', { code: 7 }, { code: 'x'.repeat(65) }, { code: '' }];
  it.each([...noBodies, ...noCodes.map((error) => ({ error }))])('%j says nothing', (body) => {
    expect(parseErrorBody(body)).toEqual({ code: null, requestId: null });
  });

  it('ignores a request id that is no short word', () => {
    expect(parseErrorBody({ request_id: 'to +1 555 0100' }).requestId).toBeNull();
  });

  it('is an envelope only with both of its marks', () => {
    const bodies = [assumed.envelope, { status: 'error' }, { status: 'success', error: {} }, null];
    expect(bodies.map(isErrorEnvelope)).toEqual([true, false, false, false]);
  });
});
