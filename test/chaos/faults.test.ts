import { expect, it, onTestFinished } from 'vitest';
import { runFaults } from '../../chaos/faults.js';
import { createPlan, type PlannedFault } from '../../chaos/plan.js';
import type { Stage } from '../../chaos/stage.js';
import { startSandbox } from '../../sandbox/sandbox.js';
import { controlSandbox } from '../../sandbox/sandbox-control.js';

it('a fault of requests ends with the next one, so that none gathers at an operation with few requests', async () => {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const control = controlSandbox(sandbox.url);
  const ids: number[] = [];
  const noting: typeof control = {
    ...control,
    async setFault(fault) {
      const id = await control.setFault(fault);
      ids.push(id);
      return id;
    },
  };
  const fault = (kind: PlannedFault['kind'], rest: Partial<PlannedFault>): PlannedFault => ({
    ...{ atMs: 0, target: 'sandbox', kind, lastsMs: 0 },
    ...rest,
  });
  const faults = [
    fault('serverErrors', { operation: 'partnerToken' }),
    fault('loseAnswers', { operation: 'orderStatus' }),
    fault('strangeAnswers', { operation: 'orderDetails', answer: 'page' }),
  ];
  const stage = { sandbox: noting, members: { sandbox: { isUp: async () => true } } } as unknown as Stage;
  await runFaults(stage, { ...createPlan(1, 60_000), faults }, () => undefined);
  const isSet = await Promise.all(ids.map((id) => control.clearFault(id)));
  expect(isSet).toEqual([false, false, true]);
});
