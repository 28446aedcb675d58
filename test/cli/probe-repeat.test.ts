import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../dev/sandbox/sandbox.js';
import type { Finding } from '../../src/cli/probe/question.js';
import { parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { inMs, newRide } from '../dev/sandbox/booking-calls.js';
import { workerEnv } from '../support/accounts.js';
import { jsonFile, textFile } from '../support/json-file.js';
import { nowhere, runHere } from './fake-process.js';

const open: Sandbox[] = [];
afterAll(() => Promise.all(open.map((sandbox) => sandbox.close())));

const hourMs = 3_600_000;
const later = jsonFile(newRide({ scheduled_at: inMs(48 * hourMs) }));
const newFile = (): string => `${textFile('')}.json`;
const profileIn = (file: string) => parseContractProfile(JSON.parse(readFileSync(file, 'utf8')));

async function serve(options: SandboxOptions = {}) {
  const sandbox = await startSandbox(options);
  open.push(sandbox);
  const env = { ...nowhere, ...workerEnv(sandbox.url) };
  const calls = (operation: string) => sandbox.ledger().filter((call) => call.operation === operation);
  const probe = async (...more: string[]) => {
    const run = await runHere(['probe', 'business', '--json', ...more], env);
    const findings = run.stdout === '' ? [] : (JSON.parse(run.stdout).findings as Finding[]);
    const said = findings.flatMap(({ remarks }) => remarks).join('\n');
    return { ...run, findings, said, changes: findings.flatMap((one) => one.changes) };
  };
  return { sandbox, calls, probe };
}

describe.concurrent('--repeat-create', () => {
  it('proves the repeat with one ride that is created twice and cancelled, and writes it', async () => {
    const { calls, probe } = await serve();
    const file = newFile();
    const run = await probe('--repeat-create', later, '--yes', '--write', file);
    expect(run).toMatchObject({ exitCode: 0, stderr: '' });
    expect(calls('createOrder')).toHaveLength(2);
    expect(calls('cancelOrder')).toHaveLength(1);
    const verified = { source: 'verified' };
    expect(profileIn(file).operations).toMatchObject({
      ...{ createOrder: { ...verified, repeatable: true }, cancelOrder: verified, orderDetails: verified },
      ...{ companySettings: verified, products: { source: 'published' }, orderReceipt: { source: 'published' } },
    });
  });

  it('of a service that makes two orders cancels both, and proves nothing', async () => {
    const { calls, probe } = await serve({ rides: { forgetsRequestIds: true } });
    const run = await probe('--repeat-create', later, '--yes');
    expect(run.changes).not.toContainEqual({ kind: 'repeatable' });
    expect(run.said).toMatch(/it made another order, \S+: not repeatable/);
    expect(calls('cancelOrder')).toHaveLength(2);
  });

  it.each([
    ['the first answer', 1, /request id [\da-f-]{36} made, and cancel them/, 0],
    ['the second answer', 2, /request id [\da-f-]{36} made, and cancel them/, 1],
  ])('without %s names what to check by hand, and proves nothing', async (_which, lost, remark, cancels) => {
    const { sandbox, calls, probe } = await serve();
    // The first of these faults that fits hits: one that does nothing, then the loss.
    if (lost === 2) sandbox.setFault({ kind: 'slow', operation: 'createOrder', delayMs: 1, times: 1 });
    sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
    const run = await probe('--repeat-create', later, '--yes');
    expect(run.exitCode).toBe(1);
    expect(run.said).toMatch(remark);
    expect(run.changes).not.toContainEqual({ kind: 'repeatable' });
    expect(calls('createOrder')).toHaveLength(lost);
    expect(calls('cancelOrder')).toHaveLength(cancels);
  });

  it('of an order that does not read cancelled names it, and proves nothing', async () => {
    const { probe } = await serve({ rides: { cancelTakesMs: 3_600_000 } });
    const run = await probe('--repeat-create', later, '--yes');
    expect(run.exitCode).toBe(1);
    expect(run.said).toMatch(
      /does not read cancelled: check by hand that order \S+ \(request id [\da-f-]{36}\) is cancelled/,
    );
    expect(run.changes).not.toContainEqual({ kind: 'repeatable' });
  });

  it('books nothing without a token for the cancel', async () => {
    const { sandbox, calls, probe } = await serve();
    sandbox.setFault({ kind: 'invalidScope', operation: 'businessToken' });
    const run = await probe('--repeat-create', later, '--yes');
    expect(run.said).toContain('not asked: there is no token for createOrder');
    expect(calls('createOrder')).toEqual([]);
  });

  it.each([
    ['without --yes', [later], /books one real ride .* add --yes/],
    ['of a ride on demand', [jsonFile(newRide()), '--yes'], /scheduled_at must be at least two hours ahead/],
    ['of a ride that is due soon', [jsonFile(newRide({ scheduled_at: inMs(hourMs) })), '--yes'], /two hours ahead/],
    ['of a body that is none', [jsonFile({ stops: [] }), '--yes'], /body\./],
  ])('%s is wrong usage, and nothing is asked', async (_what, more, reason) => {
    const { sandbox, probe } = await serve();
    const run = await probe('--repeat-create', ...more);
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(reason) });
    expect(sandbox.ledger()).toEqual([]);
  });
});

describe.concurrent('--encodings', () => {
  it('tries the other encodings once each until one gives a token, goes on with it, and proposes it', async () => {
    const { sandbox, calls, probe } = await serve();
    sandbox.setFault({ kind: 'invalidGrant', operation: 'businessToken', times: 1 });
    const run = await probe('--encodings');
    expect(run.changes).toContainEqual({ kind: 'encoding', encoding: 'multipart' });
    expect(calls('businessToken')).toHaveLength(2 + 3); // two encodings of the first scope, and the other scopes
    expect(run.findings.find(({ asks }) => asks === 'companySettings')).toMatchObject({ verdict: 'fits' });
  });

  it('tries none more where all are refused, and none at all unless asked', async () => {
    const refusing = { kind: 'invalidGrant', operation: 'businessToken' } as const;
    const asked = await serve();
    asked.sandbox.setFault(refusing);
    const run = await asked.probe('--encodings');
    expect(run.said).toContain('businessEncoding can be urlencoded, multipart or json');
    expect(asked.calls('businessToken')).toHaveLength(3 + 3);
    const unasked = await serve();
    unasked.sandbox.setFault(refusing);
    await unasked.probe();
    expect(unasked.calls('businessToken')).toHaveLength(4);
  });
});
