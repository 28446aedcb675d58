import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { mostCallsWithin } from '../../dev/sandbox/ledger-questions.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { textFile } from '../support/json-file.js';
import { isLong } from '../support/long.js';
import { useFleet } from '../support/worker/fleet.js';

const orders = isLong ? 10_000 : 200;
const perSecond = isLong ? 100 : 40;
const requestsPerSecond = isLong ? 32 : 50;
const fleet = useFleet(1, { requestsPerSecond });

it('an import that is killed twice goes on, each order is followed once, and the budget is kept', {
  timeout: 1_200_000,
}, async () => {
  const ids = Array.from({ length: orders }, () => randomUUID());
  for (const orderId of ids)
    fleet.sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Completed', afterMs: 0 }] });
  const file = textFile(ids.map((orderId) => JSON.stringify({ account: 'business', orderId })).join('\n'), '.jsonl');
  const argv = [join(projectRoot, 'dist/src/starter.js'), 'order', 'import', file, '--per-second', String(perSecond)];
  /** Begins with the rows that the last one had not said were done. */
  function begin(skip: number) {
    const env = { env: fleet.env, stdio: 'pipe' as const };
    const child = spawn(process.execPath, [...argv, '--skip', String(skip)], env);
    let said = '';
    child.stderr.on('data', (text) => (said += text));
    return { child, done: () => Number(said.match(/^\d+(?= rows, 0 refused$)/gm)?.at(-1) ?? skip) };
  }

  let skip = 0;
  for (const kill of ['first', 'second']) {
    const { child, done } = begin(skip);
    while (done() === skip) await sleep(20);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(done(), kill).toBeLessThan(orders);
    skip = done();
  }
  expect(await once(begin(skip).child, 'exit')).toEqual([0, null]);

  const ofThese = `TaskQueue = '${fleet.place.config.taskQueue}' AND WorkflowType = 'followOrder'`;
  const count = async (more: string) => (await fleet.client.workflow.count(`${ofThese}${more}`)).count;
  await expect.poll(() => count(" AND ExecutionStatus = 'Completed'"), { timeout: 600_000 }).toBe(orders);
  expect(await count('')).toBe(orders);
  const calls = fleet.sandbox.ledger({ operation: 'orderDetails' });
  expect(new Set(calls.map(({ orderId }) => orderId)).size).toBe(orders);
  expect(calls.length).toBeLessThan(orders * 1.05); // some were requested again after a kill
  expect(mostCallsWithin(10_000, calls)).toBeLessThanOrEqual(1.3 * 10 * requestsPerSecond);
});
