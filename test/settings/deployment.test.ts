import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { problemsOf } from './env.js';

const name = 'TEMPORAL_DEPLOYMENT_NAME';
const buildId = 'TEMPORAL_WORKER_BUILD_ID';

it('versions workers when deployment and build have a name', () => {
  const env = { [name]: 'faretrail', [buildId]: '1.4.0+7e4c2' };
  expect(loadConfig(env).deployment).toEqual({ deploymentName: 'faretrail', buildId: '1.4.0+7e4c2' });
});

it('takes a deployment name as the worker controller sets it', () => {
  expect(loadConfig({ [name]: 'rides/faretrail', [buildId]: '1' }).deployment?.deploymentName).toBe('rides/faretrail');
});

it.each([
  ['FARETRAIL_DEPLOYMENT_NAME', name],
  ['FARETRAIL_BUILD_ID', buildId],
])('refuses %s and names the setting that has replaced it', (old, now) => {
  expect(problemsOf(() => loadConfig({ [old]: '1' }))).toEqual([`${old}: renamed; set ${now} instead`]);
});

it('does not version workers because their image knows its build', () => {
  expect(loadConfig({ [buildId]: '1.4.0' }).deployment).toBeNull();
});

it('refuses a deployment without a build id, and says what to do', () => {
  expect(problemsOf(() => loadConfig({ [name]: 'faretrail' }))).toEqual([
    `${buildId}: missing; set it to what tells this build from others, or unset ${name}`,
  ]);
});

it.each([
  [name, 'fare.trail'],
  [name, 'fare:trail'],
  [buildId, '1.4:0'],
  [buildId, 'two words'],
])('refuses %s=%s, which the server would take apart wrongly', (setting, value) => {
  const env = { [name]: 'faretrail', [buildId]: '1', [setting]: value };
  expect(problemsOf(() => loadConfig(env))).toEqual([expect.stringMatching(new RegExp(`^${setting}: must be`))]);
});
