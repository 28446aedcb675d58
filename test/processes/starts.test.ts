import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { nodeArgs } from '../../dev/stack/run/node-args.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { type SettingKind, settings, settingsOf } from '../../src/settings/list.js';
import { textFile } from '../support/json-file.js';
import { isLong } from '../support/long.js';
import { goodEnv as goodSettings, spoilt } from '../support/settings.js';
import { usePostgres } from '../support/store/postgres.js';
import { useFleet } from '../support/worker/fleet.js';

type Env = Record<string, string>;
const programs = {
  worker: nodeArgs('worker'),
  ingress: nodeArgs('ingress'),
  desk: nodeArgs('desk'),
  commands: [join(projectRoot, 'dist/src/starter.js'), 'order', 'list'],
  codec: [join(projectRoot, 'dist/src/starter.js'), 'codec'],
} as const;
type Program = keyof typeof programs;

const fleet = useFleet(0);
const postgres = usePostgres();
const newKey = () => `k1:${randomBytes(32).toString('base64url')}`;
const newFolder = () => mkdtempSync(join(tmpdir(), 'faretrail-starts-'));

/** With these every program starts, and goes on until it is stopped; a command ends. */
const goodEnv = (): Env => ({
  ...fleet.env,
  ...{ TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_LOG_LEVEL: 'info' },
  ...{ FARETRAIL_WEBHOOK_KEYS: newKey(), FARETRAIL_PAYLOAD_KEYS: newKey(), FARETRAIL_JOURNAL_DIR: newFolder() },
  ...{ FARETRAIL_INGRESS_PORT: '0', FARETRAIL_DESK_PORT: '0', FARETRAIL_CODEC_PORT: '0' },
});
/** Only the desk cannot do without. */
const storeEnv = () => ({ FARETRAIL_STORE_URL: postgres.url });
const isUp = /"msg":"\w+ started"|codec endpoint http/;

/** Starts a program, stops it once it is up, and gives how it ended. `user`: a number that has no name. */
const start = (program: Program, env: Env, user?: number) =>
  run(programs[program], program === 'desk' ? { ...storeEnv(), ...env } : env, user);

async function run(args: readonly string[], env: Env, user?: number) {
  const { PATH = '', HOME = '' } = process.env;
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: tmpdir(),
    env: { PATH, HOME, TZ: 'UTC', ...goodEnv(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(user === undefined ? {} : { uid: user, gid: user }),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (isUp.test(output) && !child.killed) child.kill('SIGTERM'); // a second one would end it at once
    });
  await once(child, 'close');
  return { code: child.exitCode, output };
}

const marked = 'marked-value';
let takenPort = '';
const holder = createServer();
beforeAll(async () => {
  await once(holder.listen(0), 'listening');
  takenPort = String((holder.address() as AddressInfo).port);
});
afterAll(() => holder.close());

/** Root may write everywhere but in a file system that takes no folders. */
function unwritableFolder(): string {
  if (process.getuid?.() === 0) return join('/proc', marked);
  const folder = newFolder();
  chmodSync(folder, 0o555);
  return join(folder, marked);
}

/** What the place behind a setting may be, by its kind: each passes the check of its form. */
const places: Partial<Record<SettingKind, Record<string, () => string>>> = {
  port: { 'a taken port': () => takenPort },
  host: { 'a host without DNS': () => `${marked}.invalid`, 'an address of another machine': () => '192.0.2.1' },
  address: {
    'a host without DNS': () => `${marked}.invalid:7233`,
    'a port where nothing listens': () => '127.0.0.1:1',
  },
  folder: {
    'a file': () => textFile(marked),
    'a folder that cannot be written': unwritableFolder,
  },
};

/** Which program listens, writes or connects there when it starts. An ingress and a desk do without Temporal. */
const usedBy: Readonly<Record<string, readonly Program[]>> = {
  FARETRAIL_INGRESS_PORT: ['ingress'],
  FARETRAIL_INGRESS_METRICS_PORT: ['ingress'],
  FARETRAIL_INGRESS_HOST: ['ingress'],
  FARETRAIL_JOURNAL_DIR: ['ingress'],
  FARETRAIL_METRICS_PORT: ['worker'],
  FARETRAIL_DESK_PORT: ['desk'],
  FARETRAIL_DESK_HOST: ['desk'],
  FARETRAIL_CODEC_PORT: ['codec'],
  FARETRAIL_CODEC_HOST: ['codec'],
  TEMPORAL_ADDRESS: ['worker', 'commands'],
};
/** What another host than the loopback address needs. */
const signIn = {
  FARETRAIL_DESK_ISSUER: 'https://provider.example',
  FARETRAIL_DESK_URL: 'https://desk.example',
  FARETRAIL_DESK_CLIENT_ID: 'desk',
  FARETRAIL_DESK_CLIENT_SECRET: 'desk-secret',
  FARETRAIL_CODEC_TOKEN: 'a'.repeat(40),
};

const rows = Object.entries(settings).flatMap(([name, { kind }]) =>
  Object.entries(places[kind] ?? {}).flatMap(([what, value]) =>
    (usedBy[name] ?? []).map((program) => ({ name, what, program, value })),
  ),
);

describe.concurrent('a program whose setting names a place that is of no use', () => {
  it('is tried with each setting that names one', () => {
    const named = Object.entries(settings).filter(([, { kind }]) => kind in places);
    expect(Object.keys(usedBy).sort()).toEqual(named.map(([name]) => name).sort());
  });

  it.each(rows)('ends with 2 and the name of the setting: $program, $name, $what', async ({ name, program, value }) => {
    const given = value();
    const more = name.endsWith('_HOST') ? signIn : {};
    const { code, output } = await start(program, { ...more, [name]: given });
    // On a busy machine a line about a store that is slow comes first.
    expect({ code, output }).toEqual({
      code: 2,
      output: expect.stringMatching(new RegExp(`^(error: )?${name}: `, 'm')),
    });
    expect(output).not.toMatch(/\n\s+at /);
    if (name !== 'TEMPORAL_ADDRESS' || given.includes(marked)) expect(output).not.toContain(given);
  });
});

const wrongForms = ['with a carriage return', 'in quotes', 'with a control character'];
/** Read only beside another one. */
const besideOthers = ['PGSSLMODE', 'NO_PROXY'];
const spoiltRows = (['worker', 'ingress', 'desk', 'commands'] as const).flatMap((program) =>
  settingsOf(program)
    .filter(([name]) => !besideOthers.includes(name))
    .flatMap(([name], at) => wrongForms.map((how, n) => ({ name, program, how, isOfSample: at % 24 === 8 * n }))),
);

// `test/settings/every-setting.test.ts` asks the functions that read them for all of these.
describe.concurrent('a program whose setting was spoilt on its way', () => {
  const tried = spoiltRows.filter(({ isOfSample }) => isLong || isOfSample);
  it.each(tried)('ends with 2, names it and shows no value: $program, $name $how', async ({ program, name, how }) => {
    const good = goodSettings(newFolder())[name] ?? '';
    const { code, output } = await start(program, { [name]: spoilt[how]?.(good) ?? '' });
    expect({ code, output }).toEqual({ code: 2, output: expect.stringContaining(`  ${name}: `) });
    expect(output).not.toMatch(/\n\s+at |"stack"/);
    if (good.length > 5) expect(output).not.toContain(good);
  });
});

/** The address of the real server with another part. */
const storeAt = (change: (url: URL) => void): string => {
  const url = new URL(postgres.url);
  change(url);
  return url.href;
};
const storePlaces: Record<string, () => string | Promise<string>> = {
  'a host without DNS': () => storeAt((url) => Object.assign(url, { hostname: `${marked}.invalid` })),
  'an unknown user': () => storeAt((url) => Object.assign(url, { username: marked })),
  'an unknown database': () => storeAt((url) => Object.assign(url, { pathname: `/${marked}` })),
  'a database in LATIN1': async () => {
    const name = `latin_${randomBytes(4).toString('hex')}`;
    await postgres.rows(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
    return storeAt((url) => Object.assign(url, { pathname: `/${name}` }));
  },
};
const erase = [...programs.commands.slice(0, 1), 'erase', 'partner', '42', '--yes'];

describe.concurrent('FARETRAIL_STORE_URL', () => {
  const rows = Object.entries(storePlaces).flatMap(([what, value]) =>
    (['worker', 'desk', 'erase'] as const).map((program) => ({ what, program, value })),
  );
  const stop = async (program: 'worker' | 'desk' | 'erase', url: string) =>
    await (program === 'erase'
      ? run(erase, { FARETRAIL_STORE_URL: url })
      : start(program, { FARETRAIL_STORE_URL: url }));

  it.each(rows)(
    'that names $what ends the $program with 2, by name and without its value',
    async ({ program, value }) => {
      const { code, output } = await stop(program, await value());
      const named = expect.stringMatching(/^(error: )?FARETRAIL_STORE_URL: [^\n]*\n$/);
      expect({ code, output }).toEqual({ code: 2, output: named });
      for (const part of [marked, 'latin_', postgres.url]) expect(output).not.toContain(part);
    },
  );

  const nothingThere = 'postgresql://user:password@127.0.0.1:1/rides';
  it.each(['worker', 'desk'] as const)('that names a store that is away does not stop the %s', async (program) => {
    const { code, output } = await stop(program, nothingThere);
    expect(code).toBe(0);
    expect(output).toMatch(/"msg":"FARETRAIL_STORE_URL: no store answers there \(ECONNREFUSED\)/);
    expect(output).not.toContain('"stack"');
  });

  it('that names a store that is away ends what needs it with 2', async () => {
    const { code, output } = await stop('erase', nothingThere);
    expect({ code, output }).toEqual({
      code: 2,
      output: expect.stringMatching(/^error: FARETRAIL_STORE_URL: no store/),
    });
  });
});

describe.concurrent('a user without a name', () => {
  const isRoot = process.getuid?.() === 0; // only root can become another user
  it.skipIf(!isRoot).each(Object.keys(programs) as Program[])('starts and stops the %s', async (program) => {
    const { TEST_PARTNER_SECRET = '' } = fleet.env;
    const env = {
      FARETRAIL_ACCOUNTS_FILE: '', // in a folder of this user
      FARETRAIL_PARTNER_BASE_URL: fleet.sandbox.url,
      FARETRAIL_PARTNER_CLIENT_ID: 'partner',
      FARETRAIL_PARTNER_CLIENT_SECRET: TEST_PARTNER_SECRET,
      FARETRAIL_JOURNAL_DIR: 'off',
    };
    const { code, output } = await start(program, env, 12_345);
    expect({ code, output }).toEqual({ code: 0, output: expect.any(String) });
  });
});

describe.concurrent('worker, ingress and desk', () => {
  it.each(['worker', 'ingress', 'desk'] as const)('say what they are: %s --help', async (name) => {
    const help = spawn(process.execPath, [...programs[name], '--help'], { env: { PATH: process.env.PATH } });
    let output = '';
    help.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await once(help, 'close');
    expect(help.exitCode).toBe(0);
    expect(output).toMatch(
      new RegExp(`^Usage: npm run ${name}\n[\\s\\S]*TEMPORAL_ADDRESS .*[\\s\\S]*docs/reference/settings`),
    );
  });

  it.each(['worker', 'ingress', 'desk'] as const)('stop in order when npm is stopped: npm run %s', async (name) => {
    const { PATH = '', HOME = '' } = process.env;
    const env = { PATH, HOME, ...goodEnv(), ...storeEnv() };
    if (name !== 'desk') Reflect.deleteProperty(env, 'FARETRAIL_STORE_URL');
    const npm = spawn('npm', ['run', '--silent', name], { cwd: projectRoot, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    npm.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes(`"msg":"${name} started"`) && !npm.killed) npm.kill('SIGTERM');
    });
    await once(npm, 'close'); // node has closed its output, too
    expect(output).toMatch(new RegExp(`"msg":"${name} stopped`));
  });

  it('stop in order by the Ctrl-C that npm passes on to them once more', async () => {
    const child = spawn(process.execPath, programs.ingress, { env: { PATH: process.env.PATH, ...goodEnv() } });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (!output.includes('"msg":"ingress started"') || child.killed) return;
      child.kill('SIGINT');
      child.kill('SIGINT');
    });
    await once(child, 'close');
    expect({ code: child.exitCode, output }).toEqual({ code: 0, output: expect.stringContaining('ingress stopped') });
  });
});
