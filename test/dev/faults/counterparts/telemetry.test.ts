import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { missingOf, undescribed } from '../../../../dev/faults/counterparts/telemetry.js';
import type { JaegerSpan } from '../../../../dev/faults/counterparts/telemetry-programs.js';
import { projectRoot } from '../../../../dev/stack/temporal/project-root.js';

/** Spans by name and parent, each with its name as its id. */
const traceOf = (...spans: [name: string, parent?: string][]): JaegerSpan[] =>
  spans.map(([name, parent]) => ({
    ...{ service: 's', name, spanId: name },
    references: parent === undefined ? [] : [{ traceID: 't', spanID: parent }],
  }));

const whole: [string, string?][] = [
  ['checkout'],
  ['start', 'checkout'],
  ['activity readOrder', 'start'],
  ['GET /v1/orders/{order_id}', 'activity readOrder'],
  ['activity notifyUrl', 'start'],
  ['POST', 'activity notifyUrl'],
];

describe('a trace', () => {
  it('is whole when it leads from its beginning to a read and a notice', () => {
    expect(missingOf('checkout', traceOf(...whole))).toEqual([]);
  });

  it.each([
    ['a read', 3, 'no GET'],
    ['a request of the notice', 5, 'no POST'],
    ['its beginning', 0, 'it begins with undefined'],
    ['a span between others', 1, 'activity readOrder has a parent that is in no trace'],
  ])('is not whole without %s', (_, index, said) => {
    const missing = missingOf('checkout', traceOf(...whole.toSpliced(index, 1)));
    expect(missing.join('\n')).toContain(said);
  });
});

describe('the names that Prometheus knows', () => {
  const page = readFileSync(join(projectRoot, 'docs/reference/metrics.md'), 'utf8');
  const names = [...page.matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : type === 'metric' ? [] : [name],
  );

  it('are those of docs/reference/metrics.md', () => {
    expect(names.length).toBeGreaterThan(30);
    expect(undescribed([...names, 'up'], page)).toEqual([]);
    const early = names.filter((name) => !name.endsWith('_total'));
    expect(undescribed(early, page)).toEqual([]);
  });

  it('may be wrong in two ways', () => {
    const less = names.filter((name) => name !== 'faretrail_followed_orders');
    expect(undescribed([...less, 'faretrail_something_else'], page)).toEqual([
      'faretrail_something_else is not described',
      'Prometheus knows no faretrail_followed_orders',
    ]);
  });
});
