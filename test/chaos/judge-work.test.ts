import { expect, it } from 'vitest';
import { untrueTrail } from '../../chaos/judge-work.js';
import type { OrderTrail } from '../../src/client/index.js';

const at = new Date(0).toISOString();
const course = ['Pending', 'Routing', 'Driving', 'Completed'].map((status) => ({ status, at }));
const trail = (seen: string[], more: Partial<OrderTrail> = {}): OrderTrail =>
  ({
    ...{ status: seen.at(-1), outcome: 'completed', attention: null },
    timeline: seen.map((status) => ({ status, rawStatus: status, at, source: 'read' })),
    ...more,
  }) as OrderTrail;

it('a trail is true that shows the end, and before it some of what was, in order', () => {
  expect(untrueTrail(trail(['Pending', 'Routing', 'Driving', 'Completed']), course)).toBeNull();
  expect(untrueTrail(trail(['Routing', 'Completed']), course)).toBeNull();
});

it('words that the service has said with what cannot be shown are passed over, and what comes again after them', () => {
  expect(untrueTrail(trail(['Pending', 'Dri\uFFFDving', 'Pending', 'Routing', 'Completed']), course)).toBeNull();
});

it.each<[string, OrderTrail]>([
  ['another end', trail(['Pending', 'Cancelled'], { outcome: 'cancelled' })],
  ['another outcome', trail(['Pending', 'Completed'], { outcome: 'stopped' })],
  ['what never was', trail(['Pending', 'Confirmed', 'Completed'])],
  ['a status twice', trail(['Pending', 'Pending', 'Completed'])],
  ['another order of things', trail(['Driving', 'Routing', 'Completed'])],
  ['attention after the end', trail(['Completed'], { attention: { code: 'forbidden', message: '', since: at } })],
])('it is not with %s', (_, wrong) => {
  expect(untrueTrail(wrong, course)).toEqual(expect.any(String));
});
