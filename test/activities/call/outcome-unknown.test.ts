import type { Info } from '@temporalio/activity';
import { expect, it } from 'vitest';
import { type AttemptEnd, afterAttempt, nothingSent, passingTrouble } from '../../../src/domain/call.js';
import { RideApiGarbled, RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { callOf, createCallStage, refusal, reply } from './attempts.js';

type Turns = Parameters<typeof createCallStage>[0];

const lost = () => new RideApiUnreachable('CONNECTION_LOST', 'https://business.example');
const garbled = () => new RideApiGarbled('NOT_JSON', 'https://business.example', 200);
const unsent = () => new RideApiUnreachable('NO_CONNECTION', 'https://business.example');
/** It was seen that the service makes one order of all creates with the same id. */
const repeatable = { operations: { createOrder: { repeatable: true } } };
const created = reply(201, { id: 'o-1' });
const order = (fields: object) => reply(200, { id: '4711', status: 'Reserved', ...fields });
const cancelled = order({ status: 'Cancelled' });
const create = callOf('createOrder');
const isUnknown = { type: 'OutcomeUnknown', nonRetryable: true };

/** A call that meets these turns, brought to its end: its last attempt, the failures on the way, and what was sent. */
async function played(call: ReturnType<typeof callOf>, turns: Turns, overrides: unknown = {}) {
  const stage = createCallStage(turns, overrides);
  const attempts = await stage.run(call);
  const { seen: result, failure } = attempts.at(-1) ?? {};
  const failures = attempts.flatMap((one) => one.failure?.type ?? []);
  return { result, failure, failures, sent: stage.requests.map(({ method }) => method).join(' ') };
}

it.each<[string, Turns, failures: number]>([
  ['after lost answers', [lost(), reply(500), unsent(), created], 3],
  ['after its token was rejected', [lost(), ...Array(3).fill(reply(401)), created], 2],
  ['when the answer names no order', [reply(201, {}), created], 1],
  ['when the answer has a status that the profile does not list', [reply(202, {}), created], 1],
])('a create is repeated %s, where the profile says that the service knows its request id', async (_, turns, count) => {
  const { result, failures } = await played(create, turns, repeatable);
  expect(failures).toEqual(Array(count).fill(expect.stringMatching(/^(Unavailable|CredentialsRejected|Refused)$/)));
  expect(result).toMatchObject({ orderId: 'o-1' });
});

it('the outcome of a create is unknown when its repeat is refused: the first request may have made the order', async () => {
  const { failure } = await played(create, [lost(), refusal(409, 'DUPLICATE', 'Seen before.')], repeatable);
  expect(failure).toMatchObject(isUnknown);
  expect(failure?.details).toMatchObject([{ status: 409, code: 'DUPLICATE', message: 'Seen before.' }]);
});

const died = { ...nothingSent, sent: 'unknown' } as const;
it('a create is not sent after a worker died, unless it is repeatable', async () => {
  const stage = createCallStage([created]);
  expect((await stage.change(create, died, 2)).end).toMatchObject({ sent: 'unknown', trouble: { isFinal: true } });
  expect(stage.requests).toEqual([]);
  const { seen } = await createCallStage([created], repeatable).change(create, died, 2);
  expect(seen).toMatchObject({ orderId: 'o-1' });
});

// An operator who pauses an activity, and lets it go on, may have it tried again.
const again: [string, Partial<Info>][] = [
  ['as its second attempt', { attempt: 2 }],
  [
    'with its attempts set back',
    { attempt: 1, scheduledTimestampMs: 1_000, currentAttemptScheduledTimestampMs: 2_000 },
  ],
];
it.each(again)(
  'a create that is tried again %s is unknown while Temporal hides who has claimed it',
  async (_, info) => {
    const stage = Object.assign(createCallStage([created]), { info, hidesClaims: true });
    expect((await stage.attempt(create)).end).toMatchObject({ sent: 'unknown', trouble: { isFinal: true } });
    expect(stage.requests).toEqual([]);
    const claimed = Object.assign(createCallStage([created, created]), { info });
    expect((await claimed.attempt(create)).seen).toMatchObject({ orderId: 'o-1' });
    expect((await claimed.attempt(create)).end).toMatchObject({ sent: 'unknown', trouble: { isFinal: true } });
  },
);

it('a create that is tried for the first time is not sent, and not in doubt, while Temporal hides its claims', async () => {
  const stage = Object.assign(createCallStage([created]), { hidesClaims: true });
  expect((await stage.attempt(create)).end).toMatchObject({ sent: 'no', trouble: { isFinal: false } });
});

it.each(again)('a cancel that is tried again %s stays in doubt, whatever the service answers', async (_, info) => {
  const stage = Object.assign(createCallStage([refusal(409, 'CANCELLED', 'Is cancelled.')]), { info });
  expect((await stage.attempt(callOf('cancelOrder'))).end).toMatchObject({ sent: 'unknown' });
});

// What answered may not be what took it. That the service heeds the request id is assumed, and no ride is trusted to an assumption.
const seeThere = reply(303, undefined, { location: '/v1/orders/o-1' });
const wordsOfError = refusal(200, 'NOTICE_FAILED', 'No mail was sent.');
it.each([lost(), garbled(), seeThere, wordsOfError, reply(500), reply(502), reply(503), reply(504), reply(201, {})])(
  'a create is one request, with its id in the header, where its outcome is unknown after %j',
  async (turn) => {
    const stage = createCallStage([turn, created]);
    const attempts = await stage.run(create);
    expect(attempts.at(-1)?.failure).toMatchObject(isUnknown);
    expect(stage.requests.map(({ headers }) => headers['X-Request-ID'])).toEqual([create.requestId]);
  },
);

it('a repeatable create is refused by words of an error in a success: a repeat gets the same answer', async () => {
  const { failures } = await played(create, [wordsOfError], repeatable);
  expect(failures).toEqual(['Refused']);
});

it.each([{}, repeatable])(
  'a create whose claim another attempt took is not sent, and its outcome is unknown',
  async (profile) => {
    const stage = createCallStage([created], profile);
    await stage.change(create);
    expect((await stage.change(create)).end).toMatchObject({
      kind: 'failed',
      sent: 'unknown',
      trouble: { isFinal: true },
    });
    expect(stage.requests).toHaveLength(1);
  },
);

it('a create is sent again when the service surely did not take it', async () => {
  const { result, sent } = await played(create, [unsent(), reply(429), created]);
  expect(result).toMatchObject({ orderId: 'o-1' });
  expect(sent).toBe('POST POST POST');
});

const wanted = { scheduled_at: '2031-05-01T12:00:00+02:00', note_to_driver: 'at the gate' };
const moved = order({ scheduled_at: '2031-05-01T10:00:00Z' });
const changed = order({ ...wanted, scheduled_at: '2031-05-01T10:00:00Z' });
const cancel = callOf('cancelOrder');
const update = callOf('updateOrder', { body: wanted });

it.each([
  ['a cancellation is done when the order reads cancelled', [lost(), order({ status: 'canceled' })], 'POST GET', 200],
  ['a cancellation is sent again while the order lives', [reply(500), order({}), reply(204)], 'POST GET POST', 204],
  ['a cancellation is not sent while the order cannot be read', [lost(), reply(503), cancelled], 'POST GET GET', 200],
  ['a cancellation with an unexpected status is not sent again', [reply(202), cancelled], 'POST GET', 200],
  ['a change is done when every field is as it was wanted', [lost(), changed], 'PATCH GET', 200],
  ['a change is sent again while a field is the old one', [lost(), moved, reply(204)], 'PATCH GET PATCH', 204],
])('%s', async (_, turns, methods, status) => {
  const call = methods.startsWith('PATCH') ? update : cancel;
  const { result, sent } = await played(call, turns);
  expect(result).toMatchObject({ operation: call.operation, status });
  expect(sent).toBe(methods);
});

it('a cancellation whose repeat is refused is done when the order reads cancelled, and refused otherwise', async () => {
  const turns = [lost(), order({}), refusal(422, 'STATE', 'Too late.')];
  expect((await played(cancel, [...turns, cancelled])).result).toMatchObject({ status: 200 });
  const { failure } = await played(cancel, [...turns, order({ status: 'Driving' })]);
  expect(failure).toMatchObject({ type: 'Refused', details: [{ status: 422, code: 'STATE', message: 'Too late.' }] });
});

it('the outcome of a cancellation stays unknown when the account may not read the order', async () => {
  expect((await played(cancel, [lost(), reply(403)])).failure).toMatchObject(isUnknown);
});

it.each([
  ['no', 'Unavailable'],
  ['unknown', 'OutcomeUnknown'],
] as const)('a call ends when its time is over, and what was sent (%s) decides how: %s', (sent, type) => {
  const end: AttemptEnd = { kind: 'failed', sent, trouble: passingTrouble(cancel, 'no answer') };
  expect(afterAttempt(cancel, nothingSent, end)).toMatchObject({ act: 'tryAgain', before: { sent } });
  expect(afterAttempt(cancel, nothingSent, end, true)).toMatchObject({ act: 'fail', failure: { type } });
});

it('reference codes are added again after a lost answer, and the answer to that is the result, with codes that are refused', async () => {
  const taken = [{ index: 0, code: 'DUPLICATE' }];
  const body = { has_errors: true, data: [], errors: taken };
  const { result, sent } = await played(callOf('addReferenceCode'), [lost(), reply(200, body)]);
  expect(result).toMatchObject({ status: 200, body });
  expect(sent).toBe('POST POST');
});
