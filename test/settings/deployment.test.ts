import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { problemsOf } from './env.js';

const name = 'FARETRAIL_DEPLOYMENT_NAME';
const buildId = 'FARETRAIL_BUILD_ID';

it('versions workers when deployment and build have a name', () => {
  const env = { [name]: 'faretrail', [buildId]: '1.4.0+7e4c2' };
  expect(loadConfig(env).deployment).toEqual({ deploymentName: 'faretrail', buildId: '1.4.0+7e4c2' });
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
