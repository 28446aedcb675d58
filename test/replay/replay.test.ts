import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleRecorded, type Replayer, replayToTheLetter, startReplayer } from '../../dev/replay/replayer.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { isLong } from '../support/long.js';
import { type NotifyReceiver, startNotifyReceiver } from '../support/notify/receiver.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';
import { webhookEnv } from '../support/subscription/subscriptions.js';
import { quietRuntime } from '../support/worker/runtime.js';
import { changedSinceRelease, historyFile, historyFiles, keepHistory, recordedNames } from './histories.js';
import { prepareReceiver } from './paths/notices.js';
import { recordedPaths, slowPaths } from './paths/orders.js';
import { pathStore } from './paths/store.js';
import { shortWatch } from './paths/watches.js';

/** Keeps the histories of paths that have none yet. */
const recording = process.env.FARETRAIL_TEST_RECORD === 'true';

let receiver: NotifyReceiver;
let replayer: Replayer;
beforeAll(async () => {
  receiver = await startNotifyReceiver();
  prepareReceiver(receiver);
  quietRuntime();
  replayer = startReplayer({ code: await bundleRecorded(projectRoot, new DefaultLogger('ERROR')) });
});
afterAll(async () => {
  await replayer.close();
  await receiver.close();
});

/** A status that no other path has. */
const watch = { stuckAfterMs: { Unreserved: 1_000 } };

const read = (file: string) => readFileSync(file, 'utf8');
const replayText = (text: string) => {
  const json = JSON.parse(text);
  return replayer.replay(historyFromJSON(json), json.events[0].workflowExecutionStartedEventAttributes.workflowId);
};

// Recorded histories show that today's code replays, and `processes/replay` that runs of today do. So the paths are walked only on demand.
const walked = recording || isLong ? recordedPaths : {};
const groups = { ...walked, ...(recording ? { slow: slowPaths } : {}) };
const isNew = (name: string) => !recordedNames().includes(name);
for (const [group, paths] of Object.entries(groups)) {
  describe.concurrent(`a run that was just made replays on the same code: ${group}`, () => {
    let stack: OrderStack;
    beforeAll(async () => {
      // Tokens of a minute, so that an idle lease ends in two.
      const env = { ...webhookEnv(), ...receiver.env };
      stack = await startOrderStack({
        sandbox: { business: { tokenLifetimeSeconds: 60 } },
        env,
        watch,
        store: group === 'store' ? pathStore : 'none',
        watchPace: group === 'watches' ? shortWatch : {},
      });
    });
    afterAll(() => stack.close());

    it.sequential.each(Object.entries(paths))('%s', { timeout: recording ? 600_000 : 120_000 }, async (name, path) => {
      const { workflowId, runId } = await path(stack);
      const history = await stack.client.workflow.getHandle(workflowId, runId).fetchHistory();
      if (recording && isNew(name)) keepHistory(name, historyToJSON(history));
      await replayer.replay(history, workflowId);
    });
  });
}

describe('a recorded history replays on the code of today, which does the same to the letter', () => {
  it.each(historyFiles().map((file) => ({ name: basename(file, '.json'), file })))('$name', async ({ name, file }) => {
    await replayToTheLetter(replayer, name, read(file));
  });

  it('also where Temporal had offered a new version of the workers, which 0.2.0 did not take', async () => {
    const withOffers = (text: string) =>
      text.replaceAll(
        /("workflowTaskStartedEventAttributes":\s*\{)/g,
        '$1"targetWorkerDeploymentVersionChanged":true,',
      );
    const failed: string[] = [];
    for (const file of historyFiles()) {
      const name = basename(file, '.json');
      await replayToTheLetter(replayer, name, withOffers(read(file))).catch(({ message }: Error) =>
        failed.push(`${name}: ${message}`),
      );
    }
    expect(failed).toEqual([]);
  });

  it('is kept of every path', () => {
    const names = [...Object.values(recordedPaths), slowPaths].flatMap((paths) => Object.keys(paths));
    expect(names.filter(isNew)).toEqual([]);
  });

  it('is kept as the latest release has written it', () => {
    expect(changedSinceRelease()).toEqual([]);
  });

  it.each([
    ['order-completed', 'watchOrder', 'observeRide'],
    ['token-renewed', 'requestToken', 'fetchToken'],
    ['order-that-tells-urls', 'notices', 'messages'],
    ['notices', 'notifyUrl', 'callUrl'],
    ['call-done', 'attemptCall', 'askService'],
    ['report-read', 'readReceipt', 'fetchReceipt'],
    ['parked-routed', 'handOverDelivery', 'sendDelivery'],
    ['subscription-rotated-and-moved', 'createSubscriber', 'subscribeAnew'],
  ])('of %s fails to replay with another activity than %s', async (path, name, other) => {
    await expect(replayText(read(historyFile(path)).replaceAll(name, other))).rejects.toThrow();
  });
});
