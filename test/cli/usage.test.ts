import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FaretrailError } from '../../src/domain/errors.js';
import { nowhere, runHere } from './fake-process.js';

const commands = [
  'track',
  'show',
  'watch',
  'refresh',
  'stop',
  'list',
  'call',
  'tokens',
  'doctor',
  'subscribe',
  'subscriptions',
  'rotate',
  'move',
  'unsubscribe',
  'parked',
  'route',
  'discard',
];

describe('wrong usage', () => {
  it.each([
    [['show', 'Partner', '42'], 'account: must be'],
    [['show', 'partner', 'a/b'], 'orderId: must not hold "/"'],
    [['track', 'partner', ''], 'orderId: must be a non-empty text'],
    [['track', 'partner', '42', '--scheduled-at', 'tomorrow'], '--scheduled-at: must be an ISO 8601 instant'],
    [['track', 'partner', '42', '--reference', ''], 'reference: must be a text'],
    [['stop', 'partner', '42'], '--reason'],
    [['stop', 'partner', '42', '--reason', ''], 'reason: must be a text'],
    [['list', '--limit', '0'], '--limit: must be a whole number'],
    [['list', '--status', 'a\nb'], '--status: must be'],
    [['list', '--account', "x' OR 1=1"], '--account: must be'],
    [['show', 'partner'], "missing required argument 'orderId'"],
    [['show', 'partner', '42', '43'], 'too many arguments'],
    [['follow', 'partner', '42'], "unknown command 'follow'"],
    [['subscribe', 'business', 'orders'], 'eventType: must be status_changed or business_report'],
    [['subscribe', 'business', 'status_changed'], '--public-url: missing'],
    [
      ['subscribe', 'business', 'status_changed', '--public-url', 'http://rides.example'],
      'publicUrl: must be an https',
    ],
    [['rotate', 'business', 'status_changed', '--grace', 'soon'], '--grace: must be a duration'],
    [['move', 'business', 'status_changed'], '--public-url'],
    [['move', 'business', 'status_changed', '--public-url', 'rides.example'], 'publicUrl: must be an https'],
    [['unsubscribe', 'business', 'status_changed', '--reason', ''], 'reason: must be a text'],
    [['parked', '--open', 'xyz'], 'deliveryId: must be 32 hex digits'],
    [['parked', '--open', '0f'.repeat(16)], 'FARETRAIL_WEBHOOK_KEYS: missing'],
    [['route', 'business', '0f'.repeat(16)], '--order'],
    [['route', 'business', '0f'.repeat(16), '--order', 'a/b'], '--order: must not hold "/"'],
    [['discard', 'business', '0f'.repeat(16), '--reason', ''], 'reason: must be a text'],
    [['call', 'business', 'bookRide'], 'operation: must be one of companySettings'],
    [['call', 'business', 'cancelOrder'], 'orderId: cancelOrder needs it'],
    [['call', 'business', 'companySettings', '--order', '1'], 'orderId: companySettings has no use for it'],
    [['call', 'business', 'createOrder', '--key', 'a/b'], '--key: must be 1 to 100 characters'],
    [['call', 'business', 'createOrder', '--input', '/nonexistent.json'], '--input: /nonexistent.json cannot be read'],
    [['list', '--colour'], "unknown option '--colour'"],
  ])('%j ends with 2 before any connection', async (argv, reason) => {
    const { exitCode, stdout, stderr } = await runHere(argv);
    expect(stderr).toContain(reason);
    expect(stderr.trimEnd()).not.toContain('\n');
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  });

  it('is told as JSON where JSON is asked for', async () => {
    const { exitCode, stderr } = await runHere(['show', 'Partner', '42', '--json']);
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr)).toEqual({ error: { code: 'UsageError', message: expect.stringContaining('account') } });
  });

  it('never sends what was typed to the terminal as it is', async () => {
    const { stderr } = await runHere(['show', '\u001b[2J', '42']);
    expect(stderr).not.toContain('\u001b');
  });

  it('without a command prints the help to stderr', async () => {
    expect(await runHere([])).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('Usage:') });
  });
});

describe('the settings', () => {
  it('end every command with 2 when one is wrong, by name and without its value', async () => {
    const env = { ...nowhere, FARETRAIL_POLL_ACTIVE_MS: 'quickly', FARETRAIL_SEALING_KEYS: 'my-key' };
    const { exitCode, stderr } = await runHere(['list'], env);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('FARETRAIL_POLL_ACTIVE_MS: ');
    expect(stderr).toContain('FARETRAIL_SEALING_KEYS: ');
    expect(stderr).not.toMatch(/quickly|my-key/);
  });

  it('that point nowhere end a command with 1 and one line that says what to do', async () => {
    const { exitCode, stdout, stderr } = await runHere(['show', 'partner', '42']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^error: Temporal at 127\.0\.0\.1:1 cannot be reached; .*TEMPORAL_ADDRESS.*\n$/);
  });

  it('show a stack only at the log level debug', async () => {
    const { stderr } = await runHere(['show', 'partner', '42'], { ...nowhere, FARETRAIL_LOG_LEVEL: 'debug' });
    expect(stderr).toMatch(/\n {4}at /);
  });
});

describe('the help', () => {
  it.each(commands)('of %s has an example and names --json', async (command) => {
    const { exitCode, stdout } = await runHere([command, '--help']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`Examples?:\\n {2}faretrail ${command}`));
    expect(stdout).toContain('--json');
  });

  it('as a whole names every command and the exit codes', async () => {
    const { exitCode, stdout } = await runHere(['--help']);
    expect(exitCode).toBe(0);
    for (const command of commands) expect(stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'));
    expect(stdout).toContain('Exit codes: 0 done, 1 failed');
  });

  it('stays within 100 columns', async () => {
    for (const argv of [['--help'], ...commands.map((command) => [command, '--help'])]) {
      const { stdout } = await runHere(argv);
      expect(stdout.split('\n').filter((line) => line.length > 100)).toEqual([]);
    }
  });

  it('is not the version, which is that of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(await runHere(['--version'])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
  });
});

describe('where the script of a checkout was used', () => {
  const script = { ...nowhere, npm_lifecycle_event: 'starter' };
  const loadSettings = () => {
    throw new FaretrailError('NotParked', 'no such delivery; see: faretrail parked');
  };

  it('help names commands as they can be typed there', async () => {
    const { stdout } = await runHere(['subscribe', '--help'], script);
    expect(stdout).toContain('Usage: npm run starter -- subscribe [options]');
    expect(stdout).toContain('\n  npm run starter -- subscribe business business_report');
    const overall = await runHere(['--help'], script);
    expect(overall.stdout).toContain('Usage: npm run starter -- [options]');
    for (const shown of [stdout, overall.stdout]) expect(shown).not.toMatch(/\bfaretrail [a-z]+/);
  });

  it.each([
    ['in text', ['list'], 'error: no such delivery; see: npm run starter -- parked\n'],
    ['in JSON', ['list', '--json'], '"message":"no such delivery; see: npm run starter -- parked"'],
  ])('errors do so %s', async (_how, argv, wanted) => {
    expect((await runHere(argv, script, { loadSettings })).stderr).toContain(wanted);
    expect((await runHere(argv, nowhere, { loadSettings })).stderr).toContain(wanted.replace(/npm.*--/, 'faretrail'));
  });

  it('what the doctor says does so', async () => {
    const { stdout } = await runHere(['doctor'], script, { loadSettings });
    expect(stdout).toMatch(/^FAIL {2}Temporal +no such delivery; see: npm run starter -- parked$/m);
  });
});
