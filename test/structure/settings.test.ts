import { describe, expect, it } from 'vitest';
import { loadIngressConfig, loadWorkerConfig, readTracing } from '../../src/config.js';
import { type ProcessName, processHelp } from '../../src/run-process.js';
import { EnvReader } from '../../src/settings/env-reader.js';
import { mayBeInFile, settings, settingsOf } from '../../src/settings/list.js';
import { loadTemporalSettings } from '../../src/temporal/settings.js';
import { filesBelow } from './project-files.js';

/** The names in the environment that a program looks up. Those whose value decides about others have one. */
function namesLookedUp(): Set<string> {
  const names = new Set<string>();
  const given: Record<string, string> = {
    ...{ FARETRAIL_PARTNER_CLIENT_ID: 'x', FARETRAIL_BUSINESS_CLIENT_ID: 'x' },
    ...{ FARETRAIL_STORE_URL: 'postgresql://u@h/d', HTTPS_PROXY: 'http://h:1' },
    TEMPORAL_CONFIG_FILE: '/none',
  };
  const env = new Proxy(given, {
    get(target, name: string) {
      names.add(name);
      return target[name];
    },
  });
  for (const load of [loadWorkerConfig, loadIngressConfig, loadTemporalSettings])
    try {
      load(env);
    } catch {
      // settings are missing
    }
  readTracing(new EnvReader(env));
  return names;
}

/** Read as well, and no setting of ours: explained with another one, or a second way to give it. */
const besides = [
  'NODE_TLS_REJECT_UNAUTHORIZED',
  ...['https_proxy', 'no_proxy'],
  ...['SERVER_CA_CERT', 'CLIENT_CERT', 'CLIENT_KEY'].map((part) => `TEMPORAL_TLS_${part}_DATA`),
];
/** Read by the library of Temporal alone, from what we pass on. */
const ofLibrary = ['ADDRESS', 'NAMESPACE', 'API_KEY', 'TLS_SERVER_NAME', 'CONFIG_FILE', 'PROFILE'].map(
  (name) => `TEMPORAL_${name}`,
);

const listed = Object.entries(settings).flatMap(([name, setting]) =>
  mayBeInFile(setting) ? [name, `${name}_FILE`] : [name],
);

describe('the list of settings', () => {
  it('has all that the code reads, and nothing else', () => {
    const read = [...namesLookedUp(), ...ofLibrary].filter((name) => !besides.includes(name));
    expect(new Set(listed)).toEqual(new Set(read));
  });

  it('is that of the page of settings', () => {
    const page = filesBelow('docs').find(({ path }) => path === 'docs/reference/settings.md')?.text ?? '';
    const names = new Set([...page.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name));
    expect(Object.keys(settings).filter((name) => !names.has(name))).toEqual([]);
    const ours = [...names].filter((name) => name?.startsWith('FARETRAIL_') && !name.endsWith('_'));
    expect(ours.filter((name) => !listed.includes(name ?? ''))).toEqual([]);
  });

  it.each<ProcessName>(['worker', 'ingress', 'desk'])('is in the help of the %s, within 80 columns', (name) => {
    const help = processHelp(name);
    for (const [setting] of settingsOf(name)) expect(help).toContain(`  ${setting}`);
    expect(help).toContain('docs/reference/settings.md');
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});
