import { expect, it } from 'vitest';
import { isGood } from '../../../../dev/faults/cluster/tally.js';
import { openFindings } from '../../../../dev/faults/containers/report.js';

it('counts checks, and a step that is slower than its goal as a failed one', async () => {
  const lines: string[] = [];
  const findings = openFindings((line) => lines.push(line));
  findings.check('all is well', []);
  expect(await findings.time('quick', async () => 'result', 60)).toBe('result');
  await findings.time('without a goal', async () => undefined);
  expect(isGood(findings.tally())).toBe(true);
  findings.check('orders', ['one is lost']);
  await findings.time('slow', async () => undefined, 0);
  expect(findings.tally()).toEqual({ passed: 2, failed: 2 });
  expect(lines).toContain('WRONG: orders: one is lost');
  for (const what of ['quick', 'without a goal', 'slow']) expect(findings.table()).toContain(what);
});
