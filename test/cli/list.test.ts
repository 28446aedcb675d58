import { describe, expect, it } from 'vitest';
import { attentionText, commandFor, type RunInNeed } from '../../src/cli/attention.js';
import { type ListedOrder, ordersText } from '../../src/cli/order/list.js';
import { withoutColour } from '../../src/cli/text.js';
import { attentionQuery, orderRunsQuery, toStatusFilter } from '../../src/cli/visibility.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { toAccountName } from '../../src/domain/keys.js';
import { quote } from '../../src/temporal/counts.js';

describe('the query of order list', () => {
  it('asks for runs of orders, each once, that fit the options', () => {
    expect(orderRunsQuery({})).toBe("WorkflowType = 'followOrder' AND ExecutionStatus != 'ContinuedAsNew'");
    const running = "WorkflowType = 'followOrder' AND ExecutionStatus = 'Running'";
    const query = orderRunsQuery({ account: toAccountName('partner'), status: 'Driving', running: true });
    expect(query).toBe(`${running} AND RideAccount = 'partner' AND RideStatus = 'Driving'`);
  });

  it('of attention asks for whatever runs and needs a person', () => {
    expect(attentionQuery({ account: toAccountName('partner') })).toBe(
      "ExecutionStatus = 'Running' AND (RideAttention IS NOT NULL OR WorkflowType = 'parkedDelivery') " +
        "AND RideAccount = 'partner'",
    );
  });

  it('lets no status end its quotes', () => {
    expect(quote("x' OR WorkflowType = 'y")).toBe("'x\\' OR WorkflowType = \\'y'");
    expect(quote('x\\')).toBe("'x\\\\'");
  });

  it('takes a known status in any spelling and an unknown one as it is', () => {
    expect(toStatusFilter('care_req')).toBe('CareReq');
    expect(toStatusFilter('driver swapped')).toBe('driver swapped');
    for (const text of ['', 'a\\b', 'a"b']) expect(() => toStatusFilter(text)).toThrow(InvalidInput);
  });
});

describe('the table of order list', () => {
  const order: ListedOrder = {
    kind: 'order',
    account: 'partner',
    orderId: '1234567890',
    status: 'Driving',
    seenBy: 'read',
    attention: 'credentialsRejected',
    state: 'running',
    startedAt: '2026-05-01T08:30:00.000Z',
    endedAt: null,
  };

  it('has a line for each order, within 100 columns', () => {
    const lines = ordersText([order, { ...order, status: null, seenBy: null }], withoutColour).split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^account +order +status +seen by +attention +started \(UTC\) +run$/);
    expect(lines[1]).toMatch(/^partner +1234567890 +Driving +read +credentialsRejected +2026-05-01 08:30:00 +running$/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it('says that there is none, and lets no status steer the terminal', () => {
    expect(ordersText([], withoutColour)).toBe('No order fits.');
    expect(ordersText([{ ...order, status: '\u001b[2J' }], withoutColour)).not.toContain('\u001b');
  });
});

describe('the table of attention', () => {
  const run: RunInNeed = {
    kind: 'order',
    account: 'partner',
    id: '4711',
    workflowId: 'order/partner/4711',
    code: 'forbidden',
    message: 'The remedy.',
    since: '2026-05-01T08:30:00.000Z',
  };

  it('has a line for each run, with the command that helps', () => {
    const [head, line, ...more] = attentionText([run, { ...run, since: null }], withoutColour).split('\n');
    expect(head).toMatch(/^kind +account +id +attention +since \(UTC\) +what helps$/);
    expect(line).toMatch(/^order +partner +4711 +forbidden +2026-05-01 08:30:00 +order show partner 4711$/);
    expect(more).toHaveLength(1);
    expect(attentionText([], withoutColour)).toBe('Nothing needs a person.');
    expect(attentionText([{ ...run, id: '47 11' }], withoutColour)).toMatch(/order show partner '47 11'$/);
  });

  it.each<[Partial<RunInNeed>, string]>([
    [{ code: 'credentialsRejected' }, 'token list'],
    [{ kind: 'token', code: 'upstreamUnavailable' }, 'token list'],
    [{ kind: 'ride', code: 'outcomeUnknown', id: 'trip-9' }, 'ride resolve partner trip-9'],
    [{ kind: 'ride', code: 'upstreamUnavailable' }, 'doctor'],
    [{ kind: 'subscription', code: 'subscriptionSilent', id: 'ab' }, 'subscription rotate partner ab'],
    [{ kind: 'subscription', code: 'outcomeUnknown' }, 'subscription list --account partner'],
    [{ kind: 'parked', code: 'noOrderId', id: 'ab' }, 'delivery route partner ab --order ID'],
    [{ kind: 'call', code: 'upstreamUnavailable' }, 'doctor'],
  ])('%j: %s', (more, command) => {
    expect(commandFor({ ...run, ...more }).join(' ')).toBe(command);
  });
});
