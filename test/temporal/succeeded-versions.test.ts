import type { Client } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { isSucceeded } from '../../src/temporal/watches.js';

const version = (buildId: string) => ({ deploymentName: 'rides', buildId });
const [first, second] = [version('1.0'), version('2.0')];

/** A Temporal that says this of the versions of a task queue. */
const temporal = (versioningInfo: object | null) =>
  ({
    options: { namespace: 'default' },
    workflowService: { describeTaskQueue: async () => ({ versioningInfo }) },
    withDeadline: (_at: number, act: () => Promise<unknown>) => act(),
  }) as unknown as Client;

describe('a worker of version 1.0 finds that the activities of a task queue', () => {
  it.each([
    ['go to another version', { currentDeploymentVersion: second }, true],
    ['go to a version of another deployment', { currentDeploymentVersion: { ...first, deploymentName: 'cars' } }, true],
    ['go to its own version', { currentDeploymentVersion: first }, false],
    [
      'go to its own version, while another one ramps',
      { currentDeploymentVersion: first, rampingDeploymentVersion: second },
      false,
    ],
    [
      'go to another version, while its own ramps',
      { currentDeploymentVersion: second, rampingDeploymentVersion: first },
      false,
    ],
    [
      'go to no version, while another one ramps',
      { currentDeploymentVersion: null, rampingDeploymentVersion: second },
      false,
    ],
    ['go to workers without a version', { currentDeploymentVersion: { deploymentName: '', buildId: '' } }, false],
    ['have no versions', null, false],
  ])('%s', async (_what, versioningInfo, expected) => {
    expect(await isSucceeded(temporal(versioningInfo), 'queue', first)).toBe(expected);
  });
});
