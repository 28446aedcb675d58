import { expect, it } from 'vitest';
import { createPlan, places, processNames } from '../../../../dev/faults/chaos/plan.js';
import { type StrangeAnswer, strangeAnswers } from '../../../../dev/faults/chaos/strange-answers.js';

const minute = 60_000;

it('the same seed gives the same faults and the same work, another seed gives others', () => {
  expect(createPlan(7, minute)).toEqual(createPlan(7, minute));
  expect(createPlan(8, minute).faults).not.toEqual(createPlan(7, minute).faults);
});

it('every process is killed, paused and restarted in ten minutes, and the sandbox is never killed', () => {
  const { faults } = createPlan(1, 10 * minute);
  const kindsOf = (name: string) => new Set(faults.flatMap(({ target, kind }) => (target === name ? [kind] : [])));
  const ofWatches = ['freeze', 'isolate']; // for so long that another worker takes over
  for (const name of processNames.filter((one) => one !== 'sandbox')) {
    const more = name.startsWith('worker') ? ofWatches : [];
    expect([...kindsOf(name)].sort(), name).toEqual([...more, 'kill', 'pause', 'restart']);
  }
  const ofSandbox = ['down', 'loseAnswers', 'pause', 'revokeTokens', 'serverErrors', 'strangeAnswers'];
  expect([...kindsOf('sandbox')].sort()).toEqual(ofSandbox);
  const strange = new Set(faults.map(({ answer }) => answer));
  expect(Object.keys(strangeAnswers).filter((name) => !strange.has(name as StrangeAnswer)).length).toBeLessThan(4);
});

it.each([1, 2])('the plan of seed %i has every target and every kind of work in half a minute', (seed) => {
  const { faults, work } = createPlan(seed, minute / 2);
  const elsewhere = ['keys', 'release', 'store']; // these need a deployment of their kind
  const targets = new Set(faults.map(({ target }) => target));
  expect(places.filter((place) => !targets.has(place) && !elsewhere.includes(place))).toEqual([]);
  const kinds = new Set(work.map(({ kind }) => kind));
  expect([...kinds].sort()).toEqual(['call', 'deliver', 'follow', 'message', 'refresh', 'ride', 'rotate']);
  const all = [...faults, ...work];
  expect(all.every(({ atMs }) => atMs >= 0 && atMs < minute / 2)).toBe(true);
});
