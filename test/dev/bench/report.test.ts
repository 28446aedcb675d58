import { describe, expect, it } from 'vitest';
import { type Measure, summarize, toTable } from '../../../dev/bench/report.js';

describe('the report', () => {
  const cost: Measure = {
    name: 'events',
    unit: '',
    better: 'lower',
    rounds: [
      { faretrail: 10, plain: 300 },
      { faretrail: 20, plain: 400 },
      { faretrail: 12, plain: 480 },
    ],
  };

  it('compares the sides round by round', () => {
    const sides = { faretrail: 12, plain: 400, factor: { median: 30, min: 20, max: 40 } };
    expect(summarize(cost)).toMatchObject(sides);
  });

  it('turns the ratio round where more is better', () => {
    expect(summarize({ ...cost, better: 'higher' }).factor.max).toBe(1 / 20);
  });

  it('says whether a goal is met, by factor and by value', () => {
    const goal = { text: 'g', limit: 25 } as const;
    expect(summarize({ ...cost, goal: { ...goal, of: 'factor' } }).goal?.met).toBe(true);
    expect(summarize({ ...cost, goal: { ...goal, of: 'value', limit: 11 } }).goal?.met).toBe(false);
    const summaries = [summarize({ ...cost, goal: { ...goal, of: 'factor', limit: 31 } })];
    expect(toTable([{ name: 'costs', beside: 'the other', summaries }])).toMatch(/costs, beside the other.*MISSED/s);
  });
});
