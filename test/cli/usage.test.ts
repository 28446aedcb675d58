import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toDurationMs } from '../../src/cli/arguments.js';
import { createContext } from '../../src/cli/command.js';
import { FaretrailError } from '../../src/domain/errors.js';
import { newRide } from '../dev/sandbox/booking-calls.js';
import { jsonFile, textFile } from '../support/json-file.js';
import { type CliRun, fakeProcess, nowhere, runHere } from './fake-process.js';

const order = jsonFile(newRide());
const parked = '0f'.repeat(16);
const longAmount = textFile(JSON.stringify({ ...newRide(), amount: 'LONG' }).replace('"LONG"', '12345678901234567890'));
const moved = ['subscription', 'move', 'business', 'status_changed'];
const sent = ['delivery', 'send', 'business'];
const created = ['subscription', 'create', 'business', 'status_changed'];

describe('wrong usage', () => {
  it.each([
    [['order', 'show', 'Partner', '42'], 'account: must be'],
    [['order', 'show', 'partner', 'a/b'], 'orderId: must not hold "/"'],
    [['order', 'follow', 'partner', ''], 'orderId: must be a non-empty text'],
    [['order', 'follow', 'partner', '42', '--scheduled-at', 'tomorrow'], '--scheduled-at: must be an ISO 8601 instant'],
    [['order', 'follow', 'partner', '42', '--reference', ''], 'reference: must be a text'],
    [['order', 'stop', 'partner', '42'], '--reason'],
    [['order', 'stop', 'partner', '42', '--reason', ''], 'reason: must be a text'],
    [['order', 'list', '--limit', '0'], '--limit: must be a whole number'],
    [['order', 'list', '--status', 'a\nb'], '--status: must be'],
    [['order', 'list', '--account', "x' OR 1=1"], '--account: must be'],
    [['order', 'show', 'partner'], "missing required argument 'orderId'"],
    [['order', 'show', 'partner', '42', '43'], 'too many arguments'],
    [['follow', 'partner', '42'], "unknown command 'follow'"],
    [['order', 'shwo', 'partner', '42'], "unknown command 'shwo' (Did you mean show?)"],
    [['subscription', 'create', 'business', 'orders'], 'eventType: must be one of status_changed, business_report'],
    [created, '--public-url: missing'],
    [[...created, '--public-url', 'http://rides.example'], 'publicUrl: must be an https'],
    [['subscription', 'rotate', 'business', 'status_changed', '--grace', 'soon'], '--grace: must be a duration'],
    [moved, '--public-url'],
    [[...moved, '--public-url', 'rides.example'], 'publicUrl: must be an https'],
    [['delivery', 'parked', '--open', 'xyz'], 'deliveryId: must be 32 hex digits'],
    [['delivery', 'parked', '--open', parked], 'FARETRAIL_WEBHOOK_KEYS: missing'],
    [['delivery', 'route', 'business', parked], '--order'],
    [['delivery', 'route', 'business', parked, '--order', 'a/b'], '--order: must not hold "/"'],
    [[...sent, 'status_changed', '--status', 'Driving'], '--order: missing'],
    [[...sent, 'status_changed', '--order', '1'], '--status: missing'],
    [[...sent, 'business_report', '--status', 'Driving'], '--status: a business_report has none'],
    [['order', 'import', '-', '--per-second', '0'], '--per-second: must be a whole number'],
    [['order', 'import', '-', '--skip', 'some'], '--skip: must be a number of rows'],
    [['call', 'business', 'bookRide'], 'operation: must be one of companySettings'],
    [['call', 'business', 'cancelOrder'], 'orderId: cancelOrder needs it'],
    [['call', 'business', 'companySettings', '--order', '1'], 'orderId: companySettings has no use for it'],
    [['call', 'business', 'createOrder', '--key', 'a/b'], '--key: must be 1 to 100 characters'],
    [['call', 'business', 'createOrder', '--input', '/nonexistent.json'], '--input: /nonexistent.json cannot be read'],
    [['ride', 'request', 'business', '--input', jsonFile({ stops: [] })], 'body.'],
    [['ride', 'request', 'business', '--input', longAmount], 'order.amount: would lose digits as a number; write it'],
    [['ride', 'update', 'business', 'x', '--input', longAmount], 'order.amount: would lose digits'],
    [['call', 'business', 'createOrder', '--input', longAmount], 'body.amount: would lose digits'],
    [['ride', 'request', 'business', '--input', textFile('{"a":01}')], 'is not JSON'],
    [['ride', 'request', 'business', '--input', order, '--request-id', 'a/b'], 'requestId: must be'],
    [['ride', 'resolve', 'business', 'x', '--try-again', '--order', '1'], 'give one of --order'],
    [['notice', 'resend'], 'name one notice, or give --account, --since or --receiver'],
    [['notice', 'resend', 'order/business/1/a1/0/3', '--since', '1h'], 'name one notice, or give'],
    [['notice', 'list', '--since', 'yesterday'], '--since: must be a duration'],
    [['order', 'list', '--colour'], "unknown option '--colour'"],
    [['order', 'list', '--address', 'http://temporal.example:7233'], '--address: must be a host with its port'],
    [['doctor', '--address', 'temporal.example:99999'], '--address: must be a host with its port'],
    [['token', 'list', '--namespace', 'two words'], '--namespace: must be a name'],
  ])('%j ends with 2 before any connection', async (argv, reason) => {
    const { exitCode, stdout, stderr } = await runHere(argv);
    expect(stderr).toContain(reason);
    expect(stderr.trimEnd()).not.toContain('\n');
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  });

  it.each([
    [['order', 'show', 'Partner', '42'], /account/],
    [['tokens'], /^unknown command 'tokens' \(Did you mean token\?\)$/],
  ])('%j --json is reported as JSON', async (argv, message) => {
    const { exitCode, stderr } = await runHere([...argv, '--json']);
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr)).toEqual({ error: { code: 'UsageError', message: expect.stringMatching(message) } });
  });

  it('never sends what was typed to the terminal as it is', async () => {
    const { stderr } = await runHere(['order', 'show', '\u001b[2J', '42']);
    expect(stderr).not.toContain('\u001b');
  });

  it.each([[[]], [['order']]])('%j alone prints the help to stderr', async (argv) => {
    expect(await runHere(argv)).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('Usage:') });
  });
});

it('a real service is not asked to deliver to this machine', async () => {
  const env = {
    FARETRAIL_BUSINESS_BASE_URL: 'https://business.example',
    FARETRAIL_BUSINESS_CLIENT_ID: 'client',
    FARETRAIL_BUSINESS_ID: '6aa6cf00-6666-4b1c-9d2e-0a1b2c3d4e06',
    FARETRAIL_PUBLIC_URL: 'http://127.0.0.1:8480',
  };
  const { exitCode, stderr } = await runHere(created, env);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: expect.stringContaining('the service cannot reach http://127.0.0.1:8480'),
  });
});

it('a duration is a number with its unit, and anything else is refused by name', () => {
  const durations = ['0', '250ms', '90s', '30m', '24h', '2d'].map((text) => toDurationMs(text, '--grace'));
  expect(durations).toEqual([0, 250, 90_000, 1_800_000, 86_400_000, 172_800_000]);
  for (const text of ['', '5', '-1s', '1.5h', '1 h', '2w', '1h30m', '99999999999d'])
    expect(() => toDurationMs(text, '--grace'), text).toThrow('--grace: must be a duration');
});

it('an error names its option or argument once', async () => {
  for (const [argv, message] of [
    [['order', 'list', '--limit', '0'], 'error: --limit: must be a whole number from 1 to 1000.\n'],
    [['order', 'show', 'Partner', '4'], 'error: account: must be 1 to 40 characters of a-z, 0-9 and "-".\n'],
  ] as const)
    expect(await runHere([...argv])).toEqual({ exitCode: 2, stdout: '', stderr: message });
});

describe('--address and --namespace', () => {
  /** Which of three servers a list reaches: that of the profile, of the variable, or of the option. */
  async function reachedWith(...given: ('variable' | 'option')[]): Promise<string[]> {
    const reached = new Set<string>();
    const listen = async (name: string) => {
      const server = createServer((socket) => socket.destroy()).on('connection', () => reached.add(name));
      await once(server.listen(0, '127.0.0.1'), 'listening');
      onTestFinished(() => void server.close());
      return `127.0.0.1:${(server.address() as AddressInfo).port}`;
    };
    const TEMPORAL_CONFIG_FILE = textFile(`[profile.default]\naddress = "${await listen('profile')}"\n`);
    const TEMPORAL_ADDRESS = given.includes('variable') ? await listen('variable') : '';
    const options = given.includes('option') ? ['--address', await listen('option')] : [];
    const env = { TEMPORAL_CONFIG_FILE, TEMPORAL_ADDRESS };
    await runHere(['order', 'list', ...options], env, { connectWithinMs: 300 });
    return [...reached];
  }

  it('override the environment and the profile', async () => {
    expect(await reachedWith()).toEqual(['profile']);
    expect(await reachedWith('variable')).toEqual(['variable']);
    expect(await reachedWith('option')).toEqual(['option']);
    expect(await reachedWith('variable', 'option')).toEqual(['option']);
  });

  it('stand in the commands that a hint names', () => {
    const options = { address: 'temporal.example:7233', namespace: 'rides' };
    const { commandLine, env } = createContext(fakeProcess().process, options);
    expect(commandLine('order', 'show', 'partner', '4 2')).toBe(
      "faretrail order show partner '4 2' --address temporal.example:7233 --namespace rides",
    );
    expect(env).toMatchObject({ TEMPORAL_ADDRESS: 'temporal.example:7233', TEMPORAL_NAMESPACE: 'rides' });
  });
});

describe('the settings', () => {
  it('end every command with 2 when one is wrong, by name and without its value', async () => {
    const env = { ...nowhere, FARETRAIL_POLL_ACTIVE_MS: 'quickly', FARETRAIL_SEALING_KEYS: 'my-key' };
    const { exitCode, stderr } = await runHere(['order', 'list'], env);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('FARETRAIL_POLL_ACTIVE_MS: ');
    expect(stderr).toContain('FARETRAIL_SEALING_KEYS: ');
    expect(stderr).not.toMatch(/quickly|my-key/);
  });

  it('that name an address without a server end a command with 2 and one line that names the remedy', async () => {
    const { exitCode, stdout, stderr } = await runHere(['order', 'show', 'partner', '42']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/^error: TEMPORAL_ADDRESS: nothing listens there; start Temporal .*\n$/);
  });

  it('show a stack only at the log level debug', async () => {
    const { stderr } = await runHere(['order', 'show', 'partner', '42'], { ...nowhere, FARETRAIL_LOG_LEVEL: 'debug' });
    expect(stderr).toMatch(/\n {4}at /);
  });
});

describe('the help', () => {
  /** Its lines are within 80 columns, examples that are copied within 100. */
  async function helpOf(argv: string[]): Promise<string> {
    const { exitCode, stdout } = await runHere([...argv, '--help']);
    expect(exitCode).toBe(0);
    const isTooLong = (line: string) => line.length > (line.startsWith('  faretrail ') ? 100 : 80);
    expect(stdout.split('\n').filter(isTooLong)).toEqual([]);
    return stdout;
  }

  /** The commands that a help lists. */
  function namesIn(help: string): string[] {
    const [, list = ''] = /^Commands:\n((?: {2}.*\n)+)/m.exec(help) ?? [];
    return [...list.matchAll(/^ {2}(\S+)/gm)].map(([, name = '']) => name);
  }

  it('shows the nouns and the exit codes, and of every command an example and the common options', async () => {
    const overall = await helpOf([]);
    expect(overall).toContain('Exit codes: 0 done, 1 failed');
    const nouns: string[] = [];
    const commands: string[] = [];
    for (const name of namesIn(overall)) {
      const verbs = namesIn(await helpOf([name]));
      if (verbs.length > 0) nouns.push(name);
      commands.push(...(verbs.length > 0 ? verbs.map((verb) => `${name} ${verb}`) : [name]));
    }
    expect(nouns).toEqual(['order', 'ride', 'subscription', 'delivery', 'notice', 'token']);
    expect(commands.length).toBeGreaterThan(20);
    for (const command of commands) {
      const help = await helpOf(command.split(' '));
      expect(help).toMatch(new RegExp(`Examples?:\\n {2}faretrail ${command}`));
      for (const option of ['--json', '--address', '--namespace']) expect(help).toContain(`\n  ${option} `);
    }
  });

  it('is not what --version prints: that is the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(await runHere(['--version'])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
  });
});

describe('where the script of a checkout was used', () => {
  const script = { ...nowhere, npm_lifecycle_event: 'starter' };
  const loadSettings = () => {
    throw new FaretrailError('NotParked', 'no such delivery; see: faretrail delivery parked');
  };

  it('help names commands as they can be typed there', async () => {
    const { stdout } = await runHere(['subscription', 'create', '--help'], script);
    expect(stdout).toContain('Usage: npm run starter -- subscription create [options]');
    expect(stdout).toContain('\n  npm run starter -- subscription create business business_report');
    const overall = await runHere(['--help'], script);
    expect(overall.stdout).toContain('Usage: npm run starter -- <command>');
    for (const shown of [stdout, overall.stdout]) expect(shown).not.toMatch(/\bfaretrail [a-z]+/);
  });

  it.each([
    ['in text', ['order', 'list'], 'error: no such delivery; see: npm run starter -- delivery parked\n'],
    ['in JSON', ['order', 'list', '--json'], '"message":"no such delivery; see: npm run starter -- delivery parked"'],
    ['in the report of the doctor', ['doctor'], 'no such delivery; see: npm run starter -- delivery parked\n'],
  ])('errors name commands so, too, %s', async (_how, argv, wanted) => {
    const shown = ({ stdout, stderr }: CliRun) => stdout + stderr;
    expect(shown(await runHere(argv, script, { loadSettings }))).toContain(wanted);
    const usual = wanted.replace(/npm.*--/, 'faretrail');
    expect(shown(await runHere(argv, nowhere, { loadSettings }))).toContain(usual);
  });
});
