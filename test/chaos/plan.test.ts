import { expect, it } from 'vitest';
import { createPlan, createSoakPlan, places, processNames, receiverFaults } from '../../chaos/plan.js';
import { anchorIds } from '../../chaos/plan-work.js';
import { type StrangeAnswer, strangeAnswers } from '../../chaos/strange-answers.js';

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

it('three neighbouring seeds have every kind of deployment, and each the faults of its own', () => {
  const plans = [1, 2, 3].map((seed) => createPlan(seed, 10 * minute));
  expect(plans.map(({ deployment: { encrypts, versioned } }) => [encrypts, versioned])).toEqual([
    [true, false],
    [false, false],
    [false, true],
  ]);
  const has = (target: string) => plans.map(({ faults }) => faults.some((fault) => fault.target === target));
  expect([has('keys'), has('release'), has('disk')]).toEqual([
    [true, false, false],
    [false, false, true],
    [true, true, true],
  ]);
  for (const { faults } of plans) {
    const ofReceiver = faults.filter(({ target }) => target === 'receiver-1').map(({ kind }) => kind);
    expect(new Set(ofReceiver)).toEqual(new Set(receiverFaults));
    expect(faults.every(({ kind, guess }) => (kind === 'mislead') === (guess !== undefined))).toBe(true);
  }
});

it.each([1, 2, 3, 4, 5])('the plan of seed %i has every target and every kind of work in half a minute', (seed) => {
  const { faults, work } = createPlan(seed, minute / 2);
  const elsewhere = ['keys', 'release', 'store']; // these need a deployment of their kind
  const targets = new Set(faults.map(({ target }) => target));
  expect(places.filter((place) => !targets.has(place) && !elsewhere.includes(place))).toEqual([]);
  const kinds = new Set(work.map(({ kind }) => kind));
  expect([...kinds].sort()).toEqual(['call', 'deliver', 'follow', 'message', 'refresh', 'ride', 'rotate']);
  const all = [...faults, ...work];
  expect(all.every(({ atMs }) => atMs >= 0 && atMs < minute / 2)).toBe(true);
});

it('the plan revokes tokens at most once a minute, since a second revocation within it would be another trouble', () => {
  const { faults } = createPlan(3, 30 * minute);
  const at = faults.filter(({ kind }) => kind === 'revokeTokens').map(({ atMs }) => atMs);
  expect(at.length).toBeGreaterThan(5);
  expect(Math.min(...at.slice(1).map((instant, i) => instant - (at[i] ?? 0)))).toBeGreaterThan(minute);
});

it('no two pieces of work have one id', () => {
  const ids = createPlan(1, 10 * minute).work.flatMap((one) => {
    if (one.kind === 'follow') return [one.orderId];
    return one.kind === 'ride' ? [one.requestId] : one.kind === 'call' ? [one.key] : [];
  });
  expect(new Set([...ids, ...anchorIds]).size).toBe(ids.length + anchorIds.length);
});

it('a soak has every kind of work, less of it, and no faults', () => {
  const soak = createSoakPlan(1, 10 * minute);
  expect(soak.faults).toEqual([]);
  const { work } = createPlan(1, 10 * minute);
  const kinds = (of: typeof work) => [...new Set(of.map(({ kind }) => kind))].sort();
  expect(kinds(soak.work)).toEqual(kinds(work));
  expect(work.length / soak.work.length).toBeGreaterThan(3);
});
