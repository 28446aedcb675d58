import { describe, expect, it } from 'vitest';
import { changesBetween } from '../../src/cli/order/watch.js';
import { aTrail, entry } from './trails.js';

const attention = { code: 'forbidden', message: 'ask', since: '2026-05-01T08:31:00.000Z' } as const;
const open = (trail: ReturnType<typeof aTrail> | null) => ({ trail, isOpen: true });

describe('what watch prints', () => {
  it('is the whole timeline at first, then only what is new', () => {
    const before = aTrail();
    expect(changesBetween(null, open(before)).map((change) => 'status' in change && change.status)).toEqual([
      'Pending',
      'Driving',
    ]);
    const after = aTrail({ timeline: [...before.timeline, entry('CareReq', 30), entry('Driving', 40)] });
    expect(changesBetween(before, open(after))).toEqual([
      { change: 'status', ...entry('CareReq', 30) },
      { change: 'status', ...entry('Driving', 40) },
    ]);
    expect(changesBetween(after, open(after))).toEqual([]);
  });

  it('goes on rightly when the timeline has lost its oldest entries', () => {
    const after = aTrail({ timeline: [entry('Driving', 20), entry('CareReq', 30)] });
    expect(changesBetween(aTrail(), open(after))).toEqual([{ change: 'status', ...entry('CareReq', 30) }]);
  });

  it('tells when a person is needed and when no longer', () => {
    expect(changesBetween(aTrail(), open(aTrail({ attention })))).toEqual([{ change: 'attention', attention }]);
    expect(changesBetween(aTrail({ attention }), open(aTrail({ attention })))).toEqual([]);
    expect(changesBetween(aTrail({ attention }), open(aTrail()))).toEqual([{ change: 'attention', attention: null }]);
  });

  it('ends with the trail, and is nothing while no worker answers', () => {
    const ended = aTrail({ outcome: 'completed', terminal: true });
    expect(changesBetween(ended, { trail: ended, isOpen: false })).toEqual([{ change: 'ended', trail: ended }]);
    expect(changesBetween(aTrail(), open(null))).toEqual([]);
  });
});
