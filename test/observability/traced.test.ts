import type { Context } from '@temporalio/activity';
import { defaultPayloadConverter } from '@temporalio/common';
import { expect, it } from 'vitest';
import type { AccountName } from '../../src/domain/keys.js';
import type { NotifyOutcome } from '../../src/notify-http/sender.js';
import { traceActivities, traceIntake, traceNotices } from '../../src/observability/traced.js';
import type { SpanAbout, Tracing } from '../../src/observability/tracing.js';
import { free } from '../../src/webhooks/addresses.js';
import { statusOf } from '../../src/webhooks/problems.js';

interface Recorded extends SpanAbout {
  failed?: string;
}

/** Keeps the spans in a list. */
function recordedTracing(): { spans: Recorded[]; tracing: Tracing } {
  const spans: Recorded[] = [];
  const tracing: Tracing = {
    async span(about, work) {
      const span: Recorded = { ...about };
      spans.push(span);
      return await work({
        traceparent: ours,
        note: (more) => Object.assign(span, { attributes: { ...span.attributes, ...more } }),
        fail: (code) => Object.assign(span, { failed: code }),
      });
    },
    current: () => ours,
    note: () => undefined,
    close: () => Promise.resolve(),
  };
  return { spans, tracing };
}

const ours = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const callers = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;

it.each([
  [1, callers],
  [100, callers],
  [101, undefined],
])('attempt %i of an activity continues the trace %s', async (attempt, trace) => {
  const { spans, tracing } = recordedTracing();
  const info = { activityType: 'readOrder', attempt, taskQueue: 'q' };
  const { inbound } = traceActivities(tracing)({ info } as Context);
  const headers = { '_tracer-data': defaultPayloadConverter.toPayload({ traceparent: callers }) };
  await inbound?.execute?.({ args: [], headers }, async () => undefined);
  expect(spans.map(({ parent }) => parent)).toEqual([trace]);
});

it.each<[NotifyOutcome, number | undefined, string | undefined]>([
  [{ kind: 'answered', status: 204, retryAfter: undefined }, 204, undefined],
  [{ kind: 'answered', status: 410, retryAfter: undefined }, 410, '410'],
  [{ kind: 'unreachable', code: 'ECONNREFUSED' }, undefined, 'ECONNREFUSED'],
  [{ kind: 'originNotAllowed' }, undefined, 'originNotAllowed'],
])('the span of a notice that came to %j has status %s and error %s', async (outcome, status, error) => {
  const { spans, tracing } = recordedTracing();
  const sent: unknown[] = [];
  const send = traceNotices(tracing)(async (input) => {
    sent.push(input);
    return outcome;
  });
  const notice = { url: 'https://name:secret@shop.example/hidden?secret', id: '1', event: {}, at: 0 };
  expect(await send(notice)).toBe(outcome);
  expect(sent).toEqual([{ ...notice, traceparent: ours }]);
  expect(spans[0]?.attributes['http.response.status_code']).toBe(status);
  expect(spans[0]?.failed).toBe(error);
  expect(spans[0]?.attributes).toMatchObject({ 'url.full': 'https://shop.example/REDACTED', 'server.port': 443 });
  expect(JSON.stringify(spans)).not.toMatch(/secret|hidden/);
});

it.each([
  ['accepted', 202, undefined],
  ['wrongSecret', 401, undefined],
  ['journalFull', 503, 'journalFull'],
] as const)('the span of a delivery that came to %s has status %i and error %s', async (outcome, status, error) => {
  const { spans, tracing } = recordedTracing();
  const arrival = {
    account: 'a' as AccountName,
    eventType: 'status_changed',
    generation: 'g',
    arrivedAt: 0,
    toll: free,
  } as const;
  await traceIntake(async () => ({ outcome }), tracing, statusOf)(arrival, { traceparent: callers }, Buffer.alloc(0));
  const { attributes, failed, parent } = spans[0] as Recorded;
  expect(attributes).toMatchObject({ 'http.response.status_code': status, 'faretrail.outcome': outcome });
  expect([failed, parent]).toEqual([error, callers]);
});
