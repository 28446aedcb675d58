import { existsSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { fakeDriver } from '../../dev/sandbox/order/bodies.js';
import { type Sandbox, type SandboxOptions, sandboxCredentials, startSandbox } from '../../dev/sandbox/sandbox.js';
import type { Finding } from '../../src/cli/probe/question.js';
import { parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { parseOrderReply } from '../../src/contracts/order-reply.js';
import { toOrderId } from '../../src/domain/keys.js';
import { type WorkerEnv, workerEnv } from '../support/accounts.js';
import { jsonFile, textFile } from '../support/json-file.js';
import { type CliRun, nowhere, runHere } from './fake-process.js';

const open: Sandbox[] = [];
afterAll(() => Promise.all(open.map((sandbox) => sandbox.close())));

/** The order under way that `serve` puts at each interface. */
const order = 'ride-7b21';

/** A sandbox with an order at each interface, and the probe of it. */
async function serve(options: SandboxOptions = {}, env: WorkerEnv = {}) {
  const sandbox = await startSandbox(options);
  open.push(sandbox);
  for (const at of ['partner', 'business'] as const)
    sandbox.addOrder({ interface: at, orderId: order, script: [{ status: 'Driving', afterMs: 0 }] });
  const settings = { ...nowhere, ...workerEnv(sandbox.url), ...env };
  return { sandbox, settings, probe: (...argv: string[]): Promise<CliRun> => runHere(['probe', ...argv], settings) };
}

type Fault = Parameters<Sandbox['setFault']>[0];

/** What `probe --json` prints. */
interface ProbeAnswer {
  isAsExpected: boolean;
  findings: Finding[];
  changes: string[];
  written: string | null;
}

const answerOf = ({ stdout }: CliRun): ProbeAnswer => JSON.parse(stdout) as ProbeAnswer;
const verdictsOf = (run: CliRun) =>
  Object.fromEntries(answerOf(run).findings.map(({ asks, verdict }) => [asks, verdict]));

/** The path of a file that is not there yet. */
const newFile = (): string => `${textFile('')}.json`;
const readProfile = (file: string) => parseContractProfile(JSON.parse(readFileSync(file, 'utf8')));

describe.concurrent('a service that answers as the profile expects', () => {
  it('fits at the partner interface, with one line for each question', async () => {
    const { probe } = await serve();
    const { exitCode, stdout, stderr } = await probe('partner', order);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout.split('\n').slice(0, 4)).toEqual([
      expect.stringMatching(/^token for scope \w+: fits; the token serves for 3600 s$/),
      'orderStatus: fits',
      expect.stringMatching(/^orderStatus of an id that cannot exist: fits; not found /),
      '',
    ]);
  });

  it('fits at the business interface; each question is asked once, slowly, and none changes anything', async () => {
    const { sandbox, probe } = await serve();
    const run = await probe('business', order, '--json');
    expect(run.exitCode).toBe(0);
    expect(verdictsOf(run)).toEqual({
      ...{ 'token for scope order': 'fits', 'token for scope company.reference': 'fits' },
      ...{ 'token for scope finance': 'fits', 'token without scope': 'fits', orderDetails: 'fits' },
      ...{ 'orderDetails of an id that cannot exist': 'fits', companySettings: 'fits', orderReceipt: 'open' },
    });
    const calls = sandbox.ledger();
    const reads = ['orderDetails', 'orderDetails', 'companySettings', 'orderReceipt'];
    expect(calls.map(({ operation }) => operation)).toEqual([...Array(4).fill('businessToken'), ...reads]);
    const times = calls.map(({ at }) => Date.parse(at));
    const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThan(200);
  });

  it('is asked without an order, too, and then the order stays open', async () => {
    const { probe } = await serve();
    const run = await probe('partner', '--json');
    expect(run.exitCode).toBe(0);
    expect(verdictsOf(run)).toMatchObject({ orderStatus: 'open', 'orderStatus of an id that cannot exist': 'fits' });
  });
});

describe.concurrent('what is not asked', () => {
  it.each([
    ['an operation that is switched off', { companySettings: { enabled: false } }, undefined],
    ['a read that the profile sends as a POST', { companySettings: { method: 'POST' } }, 'open'],
    ['an operation of the other interface', { companySettings: { interface: 'partner' } }, undefined],
  ])('is %s', async (_, operations, verdict) => {
    const { sandbox, probe } = await serve({}, { FARETRAIL_CONTRACT_FILE: jsonFile({ operations }) });
    const run = await probe('business', '--json');
    expect(verdictsOf(run).companySettings).toBe(verdict);
    expect(sandbox.ledger().filter(({ operation }) => operation === 'companySettings')).toEqual([]);
  });
});

describe.concurrent('a service that answers otherwise', () => {
  const read = { operation: 'orderStatus' } as const;

  it('is read with the profile that the probe writes, and then fits', async () => {
    const file = newFile();
    const other = { status: 206, under: ['a', 'b'], names: { status: 's' } };
    const { settings, probe } = await serve({ otherAnswers: { orderDetails: other } });
    const first = await probe('business', order, '--json', '--write', file);
    expect(first).toMatchObject({ exitCode: 1, stderr: '' });
    expect(verdictsOf(first)).toMatchObject({ orderDetails: 'wrong' });
    expect(answerOf(first)).toMatchObject({ isAsExpected: false, written: file });
    const { operations, pointers, statuses } = readProfile(file);
    const verified = { source: 'verified', verifiedOn: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) };
    expect(operations).toMatchObject({ orderDetails: verified, orderReceipt: { source: 'published' } });
    const body = { a: { b: { id: order, s: 'Completed' } } };
    const read = parseOrderReply(body, pointers.orderDetails, statuses, toOrderId(order));
    expect(read).toMatchObject({ status: 'Completed', terminal: true });
    const again = await runHere(['probe', 'business', order, '--json'], { ...settings, FARETRAIL_CONTRACT_FILE: file });
    expect(verdictsOf(again)).toMatchObject({ orderDetails: 'fits' });
    expect(again.exitCode).toBe(0);
  });

  it('a published path is wrong: asks once, and names the field that a person must set', async () => {
    const { sandbox, settings, probe } = await serve({ otherAnswers: { orderDetails: { url: '/v2/rides/:orderId' } } });
    const file = newFile();
    const run = await probe('business', order, '--json', '--write', file);
    expect(answerOf(run).findings.find(({ asks }) => asks === 'orderDetails')).toMatchObject({
      ...{ verdict: 'wrong', changes: [], came: { status: 404 } },
      remarks: [expect.stringContaining('set operations.orderDetails.path')],
    });
    expect(sandbox.ledger().filter(({ path }) => path.endsWith(`/${order}`))).toHaveLength(1);
    expect(readProfile(file).operations.orderDetails.source).toBe('published');
    const operations = { orderDetails: { path: '/v2/rides/{order_id}?businessId={business_id}' } };
    const repaired = { ...settings, FARETRAIL_CONTRACT_FILE: jsonFile({ operations }) };
    expect(verdictsOf(await runHere(['probe', 'business', order, '--json'], repaired)).orderDetails).toBe('fits');
  });

  it.each<[what: string, fault: Fault | null, calls: number, verdicts: string, remark: RegExp]>([
    [
      'a page',
      { kind: 'html', ...read, times: 1 },
      3,
      'fits wrong fits',
      /NOT_JSON.*: check operations\.orderStatus\.path/,
    ],
    ['its limit', { kind: 'tooManyRequests', ...read, retryAfterSeconds: 9 }, 2, 'fits unanswered unanswered', /429/],
    ['a token without lifetime', { kind: 'tokenAnswer', without: ['expires_in'] }, 3, 'open fits fits', /no lifetime/],
    [
      'a token for less than was asked',
      { kind: 'tokenAnswer', with: { scope: '' } },
      3,
      'open fits fits',
      /scope lacks demand_partner/,
    ],
    ['no token', { kind: 'invalidScope', times: 1 }, 1, 'wrong open open', /scopeRejected/],
    ['nothing', null, 0, 'unanswered open open', /NO_CONNECTION/],
  ])('with %s is judged so, proposes nothing, and is not asked again', async (_, fault, calls, verdicts, remark) => {
    const { sandbox, probe } = await serve();
    if (fault) sandbox.setFault(fault);
    else await sandbox.close();
    const run = await probe('partner', order, '--json');
    expect(Object.values(verdictsOf(run)).join(' ')).toBe(verdicts);
    const first = answerOf(run).findings.find(({ verdict }) => verdict !== 'fits');
    expect(first?.remarks.join()).toMatch(remark);
    expect(first?.changes.filter(({ kind }) => kind !== 'verified')).toEqual([]);
    expect(run.exitCode).toBe(verdicts === 'open fits fits' ? 0 : 1);
    expect(sandbox.ledger()).toHaveLength(calls);
  });
});

describe.concurrent('what the probe shows', () => {
  const secrets = [sandboxCredentials.partner.clientSecret, sandboxCredentials.business.clientSecret];

  it('holds no value of a body, no secret and no token', async () => {
    const { sandbox, probe } = await serve();
    const { stdout } = await probe('business', order);
    const { name, phone, image_url, vehicle } = fakeDriver;
    const values = [name, phone, image_url, vehicle.license_plate, 'Driving', ...secrets, ...sandbox.issuedTokens()];
    for (const value of values) expect(stdout).not.toContain(value);
  });

  it('hides the secret where the service repeats it', async () => {
    const [secret = ''] = secrets;
    const { sandbox, probe } = await serve();
    const repeated = { error: { code: secret.slice(0, -3) }, [secret]: secret, status: 'error' };
    sandbox.setFault({ kind: 'reply', operation: 'orderStatus', status: 418, body: repeated });
    for (const argv of [['--json'], []]) {
      const { stdout, exitCode } = await probe('partner', order, ...argv);
      expect(exitCode).toBe(1);
      expect(stdout).toContain('code word [secret]');
      if (argv.length === 0) {
        expect(stdout).toMatch(/request +GET \/v1\/private\/orders\/status\/\{order_id\}$/m);
        expect(stdout).toMatch(/status at +\/order\/status, or 4 others +at none of them$/m);
        expect(stdout).toMatch(/^ +\/error\/code: text$/m);
      }
      expect(stdout).not.toContain(secret.slice(0, -3));
    }
  });
});

describe.concurrent('--write', () => {
  it('keeps what another file has changed, and writes the differences alone', async () => {
    const before = { statuses: { terminal: ['Completed', 'Archived'] }, limits: { requestsPerSecond: 4 } };
    const { probe } = await serve({}, { FARETRAIL_CONTRACT_FILE: jsonFile(before) });
    const file = newFile();
    await probe('partner', order, '--write', file);
    const verified = { source: 'verified', verifiedOn: new Date().toISOString().slice(0, 10) };
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ ...before, operations: { orderStatus: verified } });
  });

  it('updates the file that is in force, so that one file takes up the answers about many orders', async () => {
    const before = { limits: { requestsPerSecond: 4 } };
    const file = jsonFile(before);
    const { probe } = await serve({}, { FARETRAIL_CONTRACT_FILE: file });
    expect(await probe('partner', order, '--write', file)).toMatchObject({ exitCode: 0 });
    const operations = { orderStatus: expect.objectContaining({ source: 'verified' }) };
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ ...before, operations });
  });

  it('never replaces another file, and then asks nothing', async () => {
    const { sandbox, probe } = await serve();
    const file = textFile('precious');
    const refused = await probe('partner', order, '--write', file);
    expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('name another file') });
    expect({ text: readFileSync(file, 'utf8'), calls: sandbox.ledger() }).toEqual({ text: 'precious', calls: [] });
  });

  it('writes nothing where the answers prove nothing', async () => {
    const { probe } = await serve();
    const file = newFile();
    const run = await probe('partner', '--write', file);
    expect(run).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('is not written') });
    expect(existsSync(file)).toBe(false);
  });

  it('into a folder that is not there is wrong usage, and nothing is asked', async () => {
    const { sandbox, probe } = await serve();
    const refused = await probe('partner', order, '--write', '/nonexistent/folder/c.json');
    const why = expect.stringContaining('--write: /nonexistent/folder/c.json cannot be written');
    expect(refused).toMatchObject({ exitCode: 2, stderr: why });
    expect(sandbox.ledger()).toEqual([]);
  });

  it('refuses an account that is not set', async () => {
    const { probe } = await serve();
    const run = await probe('busines', '--write', newFile());
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('did you mean business?') });
  });
});
