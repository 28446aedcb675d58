import { expect, it } from 'vitest';
import type { Fault } from '../../chaos/faults.js';
import { judgeTokens } from '../../chaos/judge-tokens.js';
import type { LedgerEntry } from '../../sandbox/ledger.js';

const lifetimeMs = 60_000; // renewed from 48 s on

const request = (seconds: number, more: Partial<LedgerEntry> = {}): LedgerEntry => ({
  at: new Date(seconds * 1_000).toISOString(),
  ...{ operation: 'businessToken', method: 'POST', path: '/oauth/token', scope: 'order', httpStatus: 200 },
  ...more,
});
const fault = (kind: Fault['kind'], target: Fault['target'], seconds: number, untilSeconds = seconds): Fault => ({
  ...{ kind, target, atMs: 0, lastsMs: 0 },
  beganAt: seconds * 1_000,
  endedAt: untilSeconds * 1_000,
});
const judged = (requests: LedgerEntry[], faults: Fault[] = []) => judgeTokens(requests, { faults, lifetimeMs });

it('one request per lifetime of each account and scope is well', () => {
  const other = { operation: 'partnerToken', scope: 'demand_partner' } as const;
  const { problems, figures } = judged([request(0), request(1, other), request(48), request(96), request(50, other)]);
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({ tokenLeases: 2, tokensFirst: 2, tokensRenewed: 3 });
});

it('a second request within a lifetime is one too many', () => {
  expect(judged([request(0), request(30)]).problems).toHaveLength(1);
});

it('it is excused after a failed one', () => {
  expect(judged([request(0, { httpStatus: 500 }), request(2)]).problems).toEqual([]);
  expect(judged([request(0, { fault: 'dropConnection' }), request(2)]).problems).toEqual([]);
});

it('a revocation excuses two requests, and no third', () => {
  const faults = [fault('revokeTokens', 'sandbox', 10)];
  expect(judged([request(0), request(10), request(11)], faults).problems).toEqual([]);
  expect(judged([request(0), request(10), request(11), request(12)], faults).problems).toHaveLength(1);
});

it('the death of a worker excuses the repeat of what it had just asked for, and not one long after', () => {
  const killed = (seconds: number) => [fault('kill', 'worker-1', seconds, seconds + 2)];
  expect(judged([request(10), request(36)], killed(11)).problems).toEqual([]);
  expect(judged([request(10), request(36)], killed(20)).problems).toHaveLength(1);
  expect(judged([request(10), request(36)], [fault('restart', 'worker-1', 11)]).problems).toHaveLength(1);
});

it('while Temporal is away a worker holds the answer, so its death excuses for as long', () => {
  const faults = [fault('kill', 'temporal', 9, 18), fault('kill', 'worker-1', 19)];
  expect(judged([request(10), request(36)], faults).problems).toEqual([]);
});
