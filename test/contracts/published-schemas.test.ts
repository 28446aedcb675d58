import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { publishedAsyncApi } from '../../dev/stack/published-asyncapi.js';
import { publishedOpenApi } from '../../dev/stack/published-openapi.js';
import { publishedSchemas, toPublishedSchema } from '../../dev/stack/published-schemas.js';
import { noticeGivenSignal } from '../../src/workflows/messages.js';
import { recordedRuns } from '../replay/payloads.js';

type Name = keyof typeof publishedSchemas;

const folder = fileURLToPath(new URL('../../docs/schema/', import.meta.url));
const fileOf = (name: string) => `${folder}${name}.json`;
const names = Object.keys(publishedSchemas) as Name[];
/** Writes the documents, to be committed. */
const isRecording = process.env.FARETRAIL_TEST_RECORD === 'true';
const documents: Record<string, object> = {
  ...Object.fromEntries(names.map((name) => [name, toPublishedSchema(name)])),
  ...publishedOpenApi,
  ...publishedAsyncApi,
};

describe('docs/schema', () => {
  it.each(Object.entries(documents))('%s is what the code says', (name, document) => {
    const text = JSON.stringify(document, null, 2);
    if (isRecording) writeFileSync(fileOf(name), `${text}\n`);
    expect(JSON.parse(readFileSync(fileOf(name), 'utf8'))).toEqual(JSON.parse(text)); // laid out by the formatter
  });

  it('holds nothing else', () => {
    expect(readdirSync(folder).sort()).toEqual(
      Object.keys(documents)
        .map((name) => `${name}.json`)
        .sort(),
    );
  });
});

/** Read from the file: what another language would check with. */
const published = (name: Name) => z.fromJSONSchema(JSON.parse(readFileSync(fileOf(name), 'utf8')));

describe('recorded runs fit the published schemas', () => {
  const runs = recordedRuns().filter(({ file }) => !/bad-input|undecodable/.test(file));
  const ofType = (type: string) => runs.filter((run) => run.type === type);

  it.each([
    ['followOrder', 'follow-order-input', 'order-trail'],
    ['businessCall', 'business-call-input', 'business-call-result'],
    ['requestRide', 'request-ride-input', 'ride-result'],
    ['subscription', 'subscription-input', null],
    ['companyReport', 'company-report-input', 'company-report'],
    ['parkedDelivery', null, 'parked-delivery'],
  ] as const)('%s', (type, input, result) => {
    const found = ofType(type);
    expect(found.length, 'recorded runs').toBeGreaterThan(0);
    if (input) expect(found.flatMap((run) => faultsIn(input, run.input, run.file))).toEqual([]);
    const ended = found.filter((run) => run.result !== undefined);
    if (result) expect(ended.length, 'completed runs').toBeGreaterThan(0);
    if (result) expect(ended.flatMap((run) => faultsIn(result, run.result, run.file))).toEqual([]);
  });

  it('signals of deliveries, of changes and of requests', () => {
    const signals = (wanted: string) =>
      ofType('followOrder').flatMap(({ got }) =>
        got.filter(([name]) => name === wanted).map(([, argument]) => argument),
      );
    const sentBy = (type: string) =>
      ofType(type).flatMap(({ sent }) =>
        sent.filter(([name]) => name !== noticeGivenSignal.name).map(([, told]) => told),
      );
    for (const [name, found] of [
      ['delivery-notice', signals('deliveryReceived').flatMap(deliveriesIn)],
      ['order-change', sentBy('followOrder')],
      ['company-report-notice', sentBy('companyReport')],
    ] as const) {
      expect(found.length, name).toBeGreaterThan(0);
      expect(found.flatMap((one) => faultsIn(name, one))).toEqual([]);
    }
    // One that cannot be read is recorded, too.
    const requests = signals('followRequested').filter((one) => faultsIn('follow-request', one).length === 0);
    expect(requests.length).toBeGreaterThan(0);
  });

  it('and what does not fit is found out', () => {
    expect(faultsIn('follow-order-input', { account: 'partner', orderId: 'x', poll: 5 })).not.toEqual([]);
    expect(faultsIn('order-trail', { ...(ofType('followOrder')[0]?.input as object) })).not.toEqual([]);
  });

  function faultsIn(name: Name, value: unknown, where = ''): string[] {
    const read = published(name).safeParse(value);
    return read.success ? [] : read.error.issues.map(({ path, message }) => `${where} ${path.join('.')}: ${message}`);
  }
});

const deliveriesIn = (argument: unknown): unknown[] =>
  (argument as { deliveries?: unknown[] } | null)?.deliveries ?? [];
