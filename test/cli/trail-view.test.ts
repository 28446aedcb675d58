import { describe, expect, it } from 'vitest';
import { attentionLine, timelineLine, trailText } from '../../src/cli/order/show.js';
import { withColour } from '../../src/cli/text.js';
import { aTrail, entry } from './trails.js';

describe('a trail as text', () => {
  it('shows status, outcome, attention, counts and the timeline, in UTC to the second', () => {
    expect(trailText(aTrail({ reference: 'trip-9', deliveries: { received: 3, duplicate: 1 } }))).toBe(
      [
        'Order 42 of account partner',
        'status     Driving since 2026-05-01 08:30:20 UTC',
        'outcome    still open',
        'reference  trip-9',
        'attention  none',
        'seen by    12 reads, 3 deliveries (1 duplicate)',
        '',
        '2026-05-01 08:30:00  Pending       read',
        '2026-05-01 08:30:20  Driving       read',
      ].join('\n'),
    );
  });

  it('says so when nothing has been read yet', () => {
    const text = trailText(aTrail({ status: null, rawStatus: null, timeline: [], reads: 0 }));
    expect(text).toContain('not read yet, followed since 2026-05-01 08:30:20 UTC');
    expect(text).toContain('nothing read yet');
  });

  it('names what needs a person and since when', () => {
    const attention = { code: 'forbidden', message: 'ask for the scope', since: '2026-05-01T08:31:00.000Z' } as const;
    expect(trailText(aTrail({ attention }))).toContain(
      'attention  forbidden since 2026-05-01 08:31:00 UTC: ask for the scope',
    );
    expect(attentionLine(attention)).toBe('attention: forbidden since 2026-05-01 08:31:00 UTC: ask for the scope');
    expect(attentionLine(null)).toBe('attention cleared');
  });

  it('shows the details of the order, nested ones and times too', () => {
    const details = { scheduledAt: '2026-05-01T12:00:00+02:00', supplier: { name: 'Acme' } };
    const text = trailText(aTrail({ details }));
    expect(text).toContain('scheduled at   2026-05-01 10:00:00 UTC');
    expect(text).toContain('supplier name  Acme');
  });

  it('lets no word of the service steer the terminal', () => {
    const evil = '\u001b]0;x\u0007\u009b31m\u202eDrv\r\n';
    const trail = aTrail({
      status: evil,
      reference: evil,
      timeline: [entry(evil, 0, { rawStatus: `${evil}2` })],
      attention: { code: 'forbidden', message: evil, since: evil },
      details: { [evil]: { [evil]: evil } },
    });
    expect(trailText(trail).replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
  });
});

describe('a line of a timeline', () => {
  it('tells the word as it came where it was another', () => {
    expect(timelineLine(entry('Cancelled', 5, { rawStatus: 'canceled' }))).toBe(
      '2026-05-01 08:30:05  Cancelled     read (came as canceled)',
    );
  });

  it('tells of a delivery, and has colour only when asked', () => {
    const seen = entry('Driving', 5, { source: 'delivery' });
    expect(timelineLine(seen)).toBe('2026-05-01 08:30:05  Driving       delivery');
    expect(timelineLine(seen, withColour)).toContain('\u001b[1m');
  });
});
