import { expect, it } from 'vitest';
import { iso } from '../../../src/domain/instant.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { type ProofCounts, readProofCounts, withProofs } from '../../../src/domain/subscription/proofs.js';
import {
  attentionOf,
  openGeneration,
  openSubscription,
  readChangeCounts,
  type SubscriptionState,
  withSubscriber,
} from '../../../src/domain/subscription/state.js';
import { toSubscriptionMemo, toSubscriptionStatus } from '../../../src/domain/subscription/status.js';

const start = Date.parse('2031-05-01T10:00:00.000Z');
const hour = 3_600_000;
const input = {
  account: toAccountName('business'),
  eventType: 'status_changed',
  publicUrl: 'https://rides.example',
} as const;
const registration = { subscriber: { id: 'sub', createdAt: null, updatedAt: null }, sealedSecret: 'sealed' };
const rotated = (state: SubscriptionState, now: number) =>
  withSubscriber(openGeneration(state, now), registration, { graceMs: hour, now });
const first = rotated(openSubscription(input), start);
const name = start.toString(36);

const counts = (verified: number, refused: number, more: Partial<ProofCounts> = {}): ProofCounts => ({
  ...{ generation: name, header: verified > 0 ? 'x-drawn' : null, verified, refused, from: iso(start) },
  ...more,
});
const after = (state: SubscriptionState, hours: number, ...told: ProofCounts[]) =>
  withProofs(state, input, told, start + hours * hour);
const codeOf = (state: SubscriptionState) => attentionOf(state)?.code ?? null;
const proven = after(first, 0, counts(1, 0));

it('the first verified delivery of an address is published with its header, and with the pace of reports', () => {
  const { accepted } = toSubscriptionMemo(proven, input);
  expect(accepted[0]).toMatchObject({ verified: { header: 'x-drawn', at: iso(start), reportEveryMs: hour } });
  expect(toSubscriptionStatus(proven, false).generations[0]?.verified).toEqual({ header: 'x-drawn', at: iso(start) });
  expect(toSubscriptionMemo(first, input).accepted[0]).not.toHaveProperty('verified');
  const renamed = after(proven, 1, counts(3, 0, { header: 'x-new' }));
  expect(toSubscriptionMemo(renamed, input).accepted[0]?.verified).toMatchObject({ header: 'x-new', at: iso(start) });
});

it('counts of an address that the run does not know change nothing', () => {
  expect(after(first, 0, counts(1, 0, { generation: 'other' })).generations).toEqual(first.generations);
  expect(codeOf(after(first, 9, counts(0, 900)))).toBeNull();
});

it('attention comes once deliveries were refused for two hours and none was verified, and goes when one is', () => {
  expect(codeOf(after(proven, 1, counts(0, 50)))).toBeNull();
  const refusing = after(proven, 2, counts(0, 50));
  expect(attentionOf(refusing)).toMatchObject({ code: 'deliveriesUnverified', since: iso(start + 2 * hour) });
  expect(attentionOf(refusing)?.message).toMatch(/^50 deliveries without a valid signature .* rotate .*"path"/);
  expect(attentionOf(after(refusing, 3, counts(0, 1)))).toMatchObject({ since: iso(start + 2 * hour) });
  expect(codeOf(after(refusing, 3, counts(1, 70)))).toBeNull();
});

it('a few refused deliveries, or refusals at one ingress while another verifies, are no attention', () => {
  expect(codeOf(after(proven, 2, counts(0, 4)))).toBeNull();
  let state = proven;
  for (let hours = 1; hours < 10; hours += 1) {
    state = after(state, hours, counts(0, 1_000));
    state = after(state, hours + 0.5, counts(1, 0));
    expect(codeOf(state)).toBeNull();
  }
});

it('a rotation ends the attention, and the new address is unproven', () => {
  const renewed = rotated(after(proven, 2, counts(0, 50)), start + 2 * hour);
  expect(codeOf(renewed)).toBeNull();
  const [now, before] = toSubscriptionMemo(renewed, input).accepted;
  expect(now).not.toHaveProperty('verified');
  expect(before).toHaveProperty('verified');
  expect(codeOf(after(renewed, 9, counts(0, 50))), 'of the replaced address').toBeNull();
});

it.each<[string, unknown]>([
  ['nothing', undefined],
  ['counts of a watch', { read: 1, delivered: 0, from: iso(start) }],
  ['no generation', { ...counts(1, 0), generation: 'A/..' }],
  ['a header that is none', { ...counts(1, 0), header: 'x y' }],
  ['a header without an end', { ...counts(1, 0), header: 'x'.repeat(201) }],
  ['a negative number', counts(-1, 0)],
  ['no instant', counts(1, 0, { from: 'now' })],
])('the run ignores %s as counts of proofs', (_, given) => {
  expect(readProofCounts(given)).toBeNull();
});

it('each form of the argument is read as itself alone', () => {
  expect(readProofCounts(counts(1, 0))).toEqual(counts(1, 0));
  expect(readChangeCounts(counts(1, 0))).toBeNull();
});
