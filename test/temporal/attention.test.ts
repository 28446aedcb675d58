import { expect, it } from 'vitest';
import { toAccountName } from '../../src/domain/keys.js';
import { attentionQuery, type RunInNeed, withCommand } from '../../src/temporal/attention.js';

it('a query asks for the runs of an account that need a person', () => {
  const inNeed = "(RideAttention IS NOT NULL OR WorkflowType = 'parkedDelivery')";
  const query = `ExecutionStatus = 'Running' AND ${inNeed} AND RideAccount = 'partner'`;
  expect(attentionQuery(toAccountName('partner'))).toBe(query);
});

it.each<[Partial<RunInNeed>, string]>([
  [{ code: 'latePickup' }, 'order show partner 4711'],
  [{ code: 'credentialsRejected' }, 'token list'],
  [{ kind: 'token', code: 'upstreamUnavailable' }, 'token list'],
  [{ kind: 'ride', code: 'outcomeUnknown', id: 'trip-9' }, 'ride resolve partner trip-9'],
  [{ kind: 'ride', code: 'upstreamUnavailable' }, 'probe partner'],
  [{ kind: 'subscription', code: 'subscriptionSilent', id: 'ab' }, 'subscription rotate partner ab'],
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
