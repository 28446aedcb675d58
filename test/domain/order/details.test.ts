import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeTrail, recordObservation } from '../../../src/domain/order/trail.js';
import { forAny } from '../../support/for-any.js';
import { after, claim, newTrail, reading, trailOf } from './trails.js';

const rowsOf = (markdown: string): string[] => markdown.split('\n').filter((line) => line.startsWith('|'));

describe('the trail in the Temporal UI', () => {
  it('shows the status of the order and its timeline', () => {
    const pushed = recordObservation(trailOf('Routing'), reading('Driving', 120), [claim('Waiting', 90)]);
    expect(describeTrail({ ...pushed, reference: 'booking 9', deliveries: { received: 2, duplicate: 1 } })).toBe(
      [
        '**Driving** since 2031-05-01 10:02:00 UTC, reference booking 9',
        '',
        '| seen at (UTC) | status | seen by |',
        '|---|---|---|',
        '| 2031-05-01 10:00:00\u00a0\u00a0 | Routing\u00a0\u00a0 | read |',
        '| 2031-05-01 10:01:30\u00a0\u00a0 | Waiting\u00a0\u00a0 | delivery |',
        '| 2031-05-01 10:02:00\u00a0\u00a0 | Driving\u00a0\u00a0 | read |',
        '',
        'Deliveries: 2 (1 duplicate). Reads: 2.',
      ].join('\n'),
    );
  });

  it('says when nothing was read yet, and how it ended', () => {
    expect(describeTrail(newTrail())).toContain('**not read yet** since');
    expect(describeTrail(trailOf('canceled'))).toContain('**Cancelled** since 2031-05-01 10:00:00 UTC, outcome **canc');
  });

  it('shows what needs a person and the receiver that could not be reached', () => {
    const attention = { code: 'forbidden', message: 'Check | the business id', since: after(5) } as const;
    const markdown = describeTrail({ ...trailOf('Routing'), attention }, ['trip|9: no such running workflow']);
    expect(markdown).toContain('**Attention: forbidden** since 2031-05-01 10:00:05 UTC: Check   the business id');
    expect(markdown).toContain('Not notified: trip 9: no such running workflow');
  });

  it('shows the newest 50 entries', () => {
    const rows = rowsOf(describeTrail(trailOf(...Array.from({ length: 200 }, (_, index) => `Step ${index}`))));
    expect(rows).toHaveLength(52);
    expect(rows[2]).toContain('Step 150');
    expect(rows[51]).toContain('Step 199');
  });

  const steering = ['a|b', 'a\nb', 'a\r\nb', '<img src=x>', '`code`', '[a](https://x.example)', '![a](x)', 'a\\|b'];
  const texts = fc.oneof(fc.constantFrom(...steering), fc.string({ unit: 'binary', minLength: 1, maxLength: 100 }));
  it('has one row for each entry and no markup, whatever the service says', () => {
    forAny(fc.array(texts, { maxLength: 60 }), texts, (words, word) => {
      const trail = recordObservation(trailOf(...words), reading('Routing'), [
        { ...claim('Waiting'), receivedAt: word },
      ]);
      const markdown = describeTrail({ ...trail, reference: word });
      const rows = rowsOf(markdown);
      expect(rows).toHaveLength(2 + Math.min(50, trail.timeline.length));
      expect(rows.every((row) => row.split('|').length === 5)).toBe(true);
      expect(markdown).not.toMatch(/[<>`[\]\\]/);
    });
  });

  // A read gives at most 100 characters and a delivery 256, each of up to six bytes in JSON.
  it.each(['x', '漢', '\u0001', '"'])('stays under 20,000 bytes with long words of %j', (letter) => {
    const claims = Array.from({ length: 60 }, (_, index) => claim(`${index} `.padEnd(256, letter)));
    const markdown = describeTrail(recordObservation(trailOf('Routing'), reading('Driving'), claims));
    expect(Buffer.byteLength(JSON.stringify(markdown))).toBeLessThan(20_000);
  });
});
