import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeliveryNotice } from '../../src/domain/delivery.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import {
  type CompanyReport,
  describeReport,
  openReport,
  type ReceiptObservation,
  type ReceiptTroubleCode,
  receiptPaceMs,
  recordDeliveries,
  recordReceipt,
} from '../../src/domain/report.js';
import { forAny } from '../support/for-any.js';

const at = '2031-05-01T10:00:00.000Z';
const later = '2031-05-01T11:00:00.000Z';
const account = toAccountName('business');
const fresh = openReport({ account, orderId: toOrderId('4711') });
const notice = (deliveryId: string): DeliveryNotice => ({ deliveryId, eventType: 'business_report', receivedAt: at });
const trouble = (code: ReceiptTroubleCode, since = at): ReceiptObservation => {
  return { kind: 'trouble', trouble: { code, message: 'why', since }, notBefore: at, reads: 1 };
};
const receipt = { payment_summary: { total_inc_tax: '22.00' }, taxes: [1, 2] };
const read: ReceiptObservation = { kind: 'receipt', receipt, at, reads: 2 };

describe('reports', () => {
  it('are counted, duplicates apart, and the last 20 are kept', () => {
    const ids = fc.array(fc.nat({ max: 40 }).map(String), { maxLength: 200 });
    forAny(fc.array(ids, { maxLength: 10 }), (batches) => {
      let report: CompanyReport = fresh;
      let seen: string[] = [];
      for (const batch of batches) ({ report, seen } = recordDeliveries(report, seen, batch.map(notice)));
      const all = batches.flat();
      const first = [...new Set(all)];
      expect(report.deliveries).toEqual({ received: all.length, duplicate: all.length - first.length });
      expect(report.reports.map(({ deliveryId }) => deliveryId)).toEqual(first.slice(-20));
    });
  });

  it('that cannot be read are never duplicates of each other', () => {
    const { report } = recordDeliveries(fresh, [], [notice(''), notice('')]);
    expect(report.deliveries).toEqual({ received: 2, duplicate: 0 });
  });
});

describe('a look', () => {
  it('that finds the receipt clears the trouble', () => {
    const report = recordReceipt(recordReceipt(fresh, trouble('upstreamUnavailable')), read);
    expect(report).toMatchObject({ receipt, receiptAt: at, reads: 3, unavailable: null, attention: null });
  });

  it('that fails leaves the receipt of an earlier read', () => {
    const report = recordReceipt(recordReceipt(fresh, read), trouble('forbidden'));
    expect(report).toMatchObject({ receipt, unavailable: { code: 'forbidden' } });
  });

  it('that fails in the same way goes on with the trouble, in another way begins one', () => {
    const troubled = recordReceipt(fresh, trouble('forbidden', at));
    expect(recordReceipt(troubled, trouble('forbidden', later)).unavailable).toMatchObject({ since: at });
    expect(recordReceipt(troubled, trouble('notReady', later)).unavailable).toMatchObject({ since: later });
  });

  const quiet = ['scopeRejected', 'forbidden', 'notReady', 'notOffered'] as const;
  it.each(quiet)('that finds %s needs no person, and the run repeats it seldom', (code) => {
    expect(recordReceipt(fresh, trouble(code))).toMatchObject({ attention: null, unavailable: { code } });
    expect(receiptPaceMs(code)).toBeGreaterThanOrEqual(600_000);
  });

  it('that finds no receipt for an hour is repeated ever more seldom, at least twice a day', () => {
    const minutes = (looks: number) => receiptPaceMs('notReady', looks) / 60_000;
    expect([1, 6, 7, 8, 12, 13, 100].map(minutes)).toEqual([10, 10, 20, 40, 640, 720, 720]);
    expect(receiptPaceMs('forbidden', 100)).toBe(3_600_000);
  });

  const shown = ['credentialsRejected', 'grantRejected', 'unreadableStatus', 'upstreamUnavailable'] as const;
  it.each(shown)('that finds %s needs a person, and the run repeats it each minute', (code) => {
    expect(recordReceipt(fresh, trouble(code))).toMatchObject({ attention: { code }, unavailable: { code } });
    expect(receiptPaceMs(code)).toBe(60_000);
  });
});

const { report: withReport } = recordDeliveries(recordReceipt(fresh, read), [], [notice('d1')]);

describe('the report in the Temporal UI', () => {
  it('shows the receipt, the reports and the receiver that could not be reached', () => {
    const text = describeReport(withReport, ['trip/9 by signal x']);
    expect(text.replaceAll('\u00a0', '')).toBe(
      [
        '**Receipt of order 4711, read at 2031-05-01 10:00:00 UTC**\n',
        'Not notified: trip/9 by signal x\n',
        ...['| receipt |  |', '|---|---|', '| payment_summary total_inc_tax | 22.00 |', '| taxes | 2 entries |\n'],
        ...['| reported at | delivery |', '|---|---|', '| 2031-05-01 10:00:00 UTC | d1 |\n'],
        'Deliveries: 1 (0 duplicate). Reads: 2.',
      ].join('\n'),
    );
  });

  it('says why there is no receipt', () => {
    const after = (code: ReceiptTroubleCode) => describeReport(recordReceipt(fresh, trouble(code)));
    expect(after('notReady')).toContain('**No receipt: notReady** since');
    expect(after('grantRejected')).toContain('**Attention: grantRejected** since');
    expect(describeReport(openReport({ account }))).toMatch(/^\*\*A report that names no order\*\*\n\n\| reported at/);
  });

  it('stays below what the server takes, whatever a receipt holds', () => {
    const texts = fc.string({ unit: 'binary', maxLength: 300 });
    const receipts = fc.dictionary(texts, fc.oneof(texts, fc.dictionary(texts, fc.integer())), { maxKeys: 100 });
    forAny(receipts, (value) => {
      const text = describeReport(recordReceipt(fresh, { kind: 'receipt', receipt: value, at, reads: 1 }));
      expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(20_000);
    });
  });
});
