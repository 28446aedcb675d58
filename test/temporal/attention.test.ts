import { expect, it, vi } from 'vitest';
import { toAccountName } from '../../src/domain/keys.js';
import { quote } from '../../src/domain/search-attribute-names.js';
import { findRunsInNeed, type RunInNeed, withCommand } from '../../src/temporal/attention.js';
import { runsQuery } from '../../src/temporal/visibility.js';

it('a query asks for the runs that fit the options, each once, and lets no status end its quotes', () => {
  const ofOrders = "WorkflowType = 'followOrder' AND ExecutionStatus";
  expect(runsQuery('followOrder', {})).toBe(`${ofOrders} != 'ContinuedAsNew'`);
  const query = runsQuery('followOrder', { account: toAccountName('partner'), status: 'Driving', running: true });
  expect(query).toBe(`${ofOrders} = 'Running' AND RideAccount = 'partner' AND RideStatus = 'Driving'`);
  expect(quote("x' OR WorkflowType = 'y")).toBe("'x\\' OR WorkflowType = \\'y'");
  expect(quote('x\\')).toBe("'x\\\\'");
});

it('one list names the accounts of all watches, and a watch that outlives the orders of its account needs nobody', async () => {
  const list = vi.fn(async function* ({ query }: { query: string }) {
    if (query.includes('accountWatch')) for (const name of 'ab') yield { searchAttributes: { RideAccount: [name] } };
  });
  const call = (...given: unknown[]) => (given.at(-1) as () => unknown)();
  const workflowService = { describeTaskQueue: async () => ({ pollers: [] }) };
  const client = { options: {}, workflow: { list }, workflowService, withDeadline: call };
  const looking = { client, config: { taskQueue: 'q' }, inTime: call } as never;
  expect((await findRunsInNeed(looking, { account: toAccountName('partner'), limit: 9 })).rows).toEqual([]);
  const queries = list.mock.calls.map(([{ query }]) => query);
  const rides = "('followOrder','requestRide','changeRide')";
  const inNeed = '(RideAttention IS NOT NULL OR TemporalPauseInfo IS NOT NULL)';
  expect(queries.slice(0, 3)).toEqual(
    [
      `WorkflowType IN ${rides} AND ${inNeed}`,
      `WorkflowType NOT IN ${rides} AND WorkflowType != 'parkedDelivery' AND ${inNeed}`,
      "WorkflowType = 'parkedDelivery'",
    ].map((part) => `ExecutionStatus = 'Running' AND ${part} AND RideAccount = 'partner'`),
  );
  expect(queries[4]).toContain("RideAccount NOT IN ('a','b')");
});

/** Temporal with these runs, each with one paused activity, and without a worker. */
function pausedRuns(runs: readonly { type: string; workflowId: string; attention?: string }[]) {
  const infos = runs.map(({ type, workflowId, attention }) => ({
    type,
    workflowId,
    startTime: new Date(0),
    searchAttributes: { TemporalPauseInfo: ['Activity:x'], RideAccount: ['partner'], RideAttention: [attention] },
  }));
  const isRide = ({ type }: { type: string }) => ['requestRide', 'changeRide'].includes(type);
  const list = async function* ({ query }: { query: string }) {
    for (const info of infos)
      if (query.includes('TemporalPauseInfo') && isRide(info) === / IN \(/.test(query.replace('NOT IN', '')))
        yield info;
  };
  const pendingActivities = [
    { activityId: '5', activityType: { name: 'tryIt' }, paused: true, pauseInfo: { manual: { identity: 'pat' } } },
  ];
  const describe = async () => ({ status: { name: 'RUNNING' }, startTime: new Date(0), raw: { pendingActivities } });
  const call = (...given: unknown[]) => (given.at(-1) as () => unknown)();
  const query = () => Promise.reject(new Error('no worker'));
  const workflow = { list, getHandle: () => ({ describe, query }) };
  return { client: { options: {}, workflow, withDeadline: call }, config: { taskQueue: 'q' }, inTime: call } as never;
}

it('attention lists paused runs of every type once, with who paused them and the command that resumes them', async () => {
  const runs = [
    { type: 'accessToken', workflowId: 'token/partner/unscoped/a1b2' },
    { type: 'requestRide', workflowId: 'ride/partner/trip-9', attention: 'outcomeUnknown' },
    { type: 'changeRide', workflowId: 'change/partner/trip-9/1' },
    { type: 'notices', workflowId: 'notices/order/partner/4711/run/store' },
    { type: 'foreign', workflowId: 'theirs' },
  ];
  const { rows } = await findRunsInNeed(pausedRuns(runs), { limit: 9 });
  const inNeed = ({ workflowId = '', attention = 'paused' }: Partial<(typeof runs)[number]>) => ({
    account: 'partner',
    code: attention,
    message: expect.stringMatching(/^tryIt was paused by pat at/),
    since: '1970-01-01T00:00:00.000Z',
    command: `temporal activity unpause --workflow-id ${workflowId} --activity-id 5`,
  });
  const [token, ride, change, notices] = runs.map(inNeed);
  expect(rows).toMatchObject([ride, change, token, notices]);
  expect(rows.map(({ kind }) => kind)).toEqual(['ride', 'change', 'token', 'notices']);
});

it.each<[Partial<RunInNeed>, string]>([
  [{ code: 'latePickup' }, 'order show partner 4711'],
  [{ code: 'credentialsRejected' }, 'token list'],
  [{ kind: 'token', code: 'upstreamUnavailable' }, 'token list'],
  [{ kind: 'ride', code: 'outcomeUnknown', id: 'trip-9' }, 'ride resolve partner trip-9'],
  [{ kind: 'ride', code: 'upstreamUnavailable' }, 'probe partner'],
  [{ kind: 'subscription', code: 'subscriptionSilent', id: 'ab' }, 'subscription rotate partner ab'],
  [{ kind: 'subscription', code: 'deliveriesUnverified', id: 'ab' }, 'subscription rotate partner ab'],
  [{ kind: 'subscription', code: 'outcomeUnknown' }, 'subscription list --account partner'],
  [{ kind: 'parked', code: 'noOrderId', id: 'ab' }, 'delivery route partner ab --order ID'],
  [{ kind: 'call', code: 'upstreamUnavailable' }, 'probe partner'],
  [{ kind: 'watch', code: 'upstreamUnavailable' }, 'probe partner'],
  [{ kind: 'watch', code: 'scopeRejected' }, 'token list'],
  [{ kind: 'account', code: 'noWatch' }, 'doctor'],
])('names for %j the command %s', (more, command) => {
  const run = { kind: 'order', account: 'partner', id: '4711', workflowId: 'order/partner/4711' } as const;
  expect(withCommand({ ...run, code: 'forbidden', message: null, since: null, ...more }).command).toBe(command);
});
