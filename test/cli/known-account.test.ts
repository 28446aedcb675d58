import { describe, expect, it } from 'vitest';
import type { CommandSpec } from '../../src/cli/command.js';
import { entries } from '../../src/cli/program.js';
import { newRide } from '../dev/sandbox/booking-calls.js';
import { jsonFile } from '../support/json-file.js';
import { nowhere, runHere } from './fake-process.js';

const known = {
  ...nowhere,
  FARETRAIL_PARTNER_BASE_URL: 'https://partner.example',
  FARETRAIL_PARTNER_CLIENT_ID: 'client',
  FARETRAIL_ACCOUNTS_FILE: jsonFile({
    accounts: {
      'acme-berlin': {
        ...{ interface: 'business', baseUrl: 'https://business.example', clientId: 'client' },
        ...{ clientSecret: { env: 'ACME_SECRET' }, businessId: '00000000-0000-4000-8000-000000000000' },
      },
    },
  }),
};

/** The words after the account of each command that starts a run of an account. */
const starting: Record<string, string[]> = {
  'order follow': ['42'],
  'order import': [],
  'ride request': ['--input', jsonFile(newRide())],
  'subscription create': ['status_changed', '--public-url', 'https://rides.example'],
  call: ['companySettings'],
};
/** These need a run that is there, or none. */
const others = [
  ...['order show', 'order watch', 'order refresh', 'order stop', 'order list'],
  ...['ride show', 'ride watch', 'ride update', 'ride cancel', 'ride resolve', 'ride list'],
  ...['subscription list', 'subscription rotate', 'subscription move', 'subscription end'],
  ...['delivery parked', 'delivery route', 'delivery discard', 'delivery send'],
  ...['notice list', 'notice resend', 'attention', 'probe', 'erase'],
];

const typed = (command: string, account: string): string[] =>
  command === 'order import'
    ? ['order', 'import', '-', '--account', account]
    : [...command.split(' '), account, ...(starting[command] ?? [])];

it('every command that takes an account starts a run of it or not, and those that do offer --unknown-account', () => {
  const verbs = entries.flatMap((entry): [string, CommandSpec][] =>
    'verbs' in entry
      ? entry.verbs.map((verb) => [`${entry.noun} ${verb.form.split(' ')[0]}`, verb])
      : [[entry.form.split(' ')[0] ?? '', entry]],
  );
  const flagsOf = ({ options = [] }: CommandSpec) => options.map(({ long }) => long);
  const ofAccounts = verbs.filter(([, spec]) => spec.form.includes('<account>') || flagsOf(spec).includes('--account'));
  expect(ofAccounts.map(([name]) => name).sort()).toEqual([...Object.keys(starting), ...others].sort());
  const allowing = verbs.filter(([, spec]) => flagsOf(spec).includes('--unknown-account'));
  expect(allowing.map(([name]) => name).sort()).toEqual(Object.keys(starting).sort());
});

describe.each(Object.keys(starting))('%s', (command) => {
  it('refuses an account that the settings do not know before it connects, and names the nearest', async () => {
    const { exitCode, stdout, stderr } = await runHere(typed(command, 'partne'), known);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/^error: account: .* do not know partne; did you mean partner\? .*--unknown-account\n$/);
    expect((await runHere(typed(command, 'acme-berln'), known)).stderr).toContain('did you mean acme-berlin?');
  });

  it.each([
    ['with --unknown-account', ['--unknown-account'], known],
    ['where the settings know no account', [], nowhere],
  ])('goes on %s', async (_how, more, env) => {
    const run = await runHere([...typed(command, 'partne'), ...more], env);
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('nothing listens there') });
  });

  it('goes on with an account that they know', async () => {
    const run = await runHere(typed(command, 'acme-berlin'), known);
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('nothing listens there') });
  });
});
