import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { clusterShapes, composeShape, serverSettings } from '../../cluster/server-config.js';

it('each service of the cluster runs in two of three processes, so that one of them may be gone', () => {
  const { servers } = clusterShapes[3];
  for (const service of ['frontend', 'history', 'matching', 'worker'] as const)
    expect(
      servers.filter((services) => services.some((one) => one === service)),
      service,
    ).toHaveLength(2);
});

it('one server has the partitions of docker-compose.yml, the cluster has those of Temporal', () => {
  const partitions = (shape: typeof composeShape) =>
    parse(serverSettings(shape))['matching.numTaskqueueReadPartitions'];
  expect([composeShape, clusterShapes[1], clusterShapes[3]].map(partitions)).toEqual([
    [{ value: 1 }],
    [{ value: 4 }],
    [{ value: 4 }],
  ]);
});
