import { expect, it } from 'vitest';
import type { Forged } from '../../../../dev/faults/chaos/forger.js';
import { judgeForger, mayBeParked } from '../../../../dev/faults/chaos/judge-forger.js';

// The address g1 was published as signed at second 10. The ingress started at second 0 and again at 100.

const second = 1_000;
type Sent = Partial<Forged> & { second: number };
const one = ({ second: at, ...over }: Sent, index: number): Forged => ({
  orderId: `forged-${index}`,
  isInvented: true,
  flaw: 'unsigned',
  deliveryId: `d${index}`,
  generation: 'g1',
  at: at * second,
  ms: 10,
  answer: 401,
  saysWhen: false,
  ...over,
});

interface Setting {
  runs?: string[];
  deliveries?: string[];
  asked?: string[];
  current?: string;
  withoutSecret?: string[];
  verifiedAt?: number;
  outage?: [from: number, to: number];
}

function problemsOf(sent: Sent[], setting: Setting = {}): string[] {
  const { runs = [], deliveries = [], asked = [], current = 'g1', withoutSecret = [], verifiedAt, outage } = setting;
  const verified = verifiedAt === undefined ? [] : [{ generation: 'g1', at: verifiedAt * second }];
  return judgeForger(sent.map(one), {
    traces: { runs: new Set(runs), deliveries: new Set(deliveries), asked: new Set(asked) },
    addresses: {
      publishedAt: new Map([['g1', 10 * second]]),
      withoutSecret: new Set(withoutSecret),
      current,
      verified,
    },
    starts: [0, 100 * second],
    outages: outage ? [{ beganAt: outage[0] * second, endedAt: outage[1] * second }] : [],
  }).problems;
}

const refused: Sent = { second: 90 };
const anchor = { orderId: 'anchor-1', isInvented: false };
const admittedAt = (at: number, generation = 'g1'): Sent => ({ second: at, answer: 202, generation });

it.each<[what: string, sent: Sent[], setting?: Setting]>([
  ['one that was refused', [refused]],
  ['one before the first verified delivery', [refused, admittedAt(5)], { deliveries: ['d1'] }],
  ['one that another process took just after its start', [refused, admittedAt(105)]],
  ['one that was parked', [refused, admittedAt(105)], { runs: ['parked/business/d1'] }],
  ['one long after the start, and first of its process', [refused, admittedAt(150)]],
  ['one after an outage of Temporal', [refused, admittedAt(105), admittedAt(150)], { outage: [125, 135] }],
  ['one at another address', [refused, admittedAt(95, 'g2')], { verifiedAt: 20 }],
  ['one at an address without a secret', [refused, admittedAt(95)], { withoutSecret: ['g1'] }],
  ['one without an answer and without a trace', [refused, { second: 95, answer: null }]],
  ['one that was told when to come again', [refused, { second: 95, answer: 503, saysWhen: true }]],
  ['one about an anchor, which is read anyhow', [{ ...refused, ...anchor }], { asked: ['anchor-1'] }],
])('the judge of forged deliveries accepts %s', (_, sent, setting) => {
  expect(problemsOf(sent, setting)).toEqual([]);
});

it.each<[what: string, problem: string, sent: Sent[], setting?: Setting]>([
  ['none that was refused', 'none of 1', [admittedAt(5)]],
  ['no forged delivery at all', 'none of 0', []],
  ['a refused one that started a run', 'left a trace', [refused], { runs: ['order/business/forged-0'] }],
  ['a refused one that led to a read', 'left a trace', [refused], { asked: ['forged-0'] }],
  ['a refused one in a history', 'left a trace', [{ ...refused, ...anchor }], { deliveries: ['d0'] }],
  ['a refused one that was parked', 'left a trace', [refused], { runs: ['parked/business/d0'] }],
  [
    'one that a full ingress refused and kept',
    'left a trace',
    [refused, { second: 5, answer: 429, saysWhen: true }],
    { deliveries: ['d1'] },
  ],
  ['one after a verified one', 'that knew', [refused, admittedAt(8)], { verifiedAt: 7 }],
  ['one after a refusal by the same process', 'that knew', [{ second: 3 }, admittedAt(8)]],
  [
    'one without an answer after a verified one',
    'that knew',
    [refused, { second: 8, answer: null }],
    { verifiedAt: 7, deliveries: ['d1'] },
  ],
  [
    'one that a process gave to a run just after its start',
    'reached a run',
    [refused, admittedAt(105)],
    { deliveries: ['d1'] },
  ],
  ['one long after the first answer of its process', 'had had time', [refused, admittedAt(105), admittedAt(116)]],
  [
    'one long after an outage of Temporal',
    'had had time',
    [refused, admittedAt(105), admittedAt(160)],
    { outage: [125, 135] },
  ],
  ['an address that is never proven', 'ends without knowing', [refused], { current: 'g2' }],
  ['another answer', 'answered with 500', [refused, { second: 5, answer: 500 }]],
  ['a refusal that does not say when to send again', 'do not say when', [refused, { second: 5, answer: 429 }]],
])('the judge of forged deliveries names %s', (_, problem, sent, setting) => {
  const problems = problemsOf(sent, setting);
  expect(problems).toEqual([expect.stringContaining(problem)]);
});

it('only a forged delivery that was not refused may be parked', () => {
  const sent = [refused, admittedAt(5), { second: 5, answer: null }, { second: 5, answer: 503 }].map(one);
  expect([...mayBeParked(sent)]).toEqual(['parked/business/d1', 'parked/business/d2']);
});
