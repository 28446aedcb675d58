import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type NotifyReceiver, startNotifyReceiver } from '../support/notify/receiver.js';
import { type OrderStack, startOrderStack } from '../support/order/stack.js';
import { webhookEnv } from '../support/subscription/subscriptions.js';
import { prepareReceiver } from './paths/notices.js';
import { recordedPaths, slowPaths } from './paths/orders.js';
import { type Replayer, startReplayer } from './replayer.js';

const folder = fileURLToPath(new URL('./histories/', import.meta.url));
const fileOf = (name: string) => `${folder}${name}.json`;
/** Writes what the paths leave behind, to be committed: needed for a new path, and once per release. */
const isRecording = process.env.FARETRAIL_TEST_RECORD === 'true';

let receiver: NotifyReceiver;
let replayer: Replayer;
beforeAll(async () => {
  if (isRecording) mkdirSync(folder, { recursive: true });
  receiver = await startNotifyReceiver();
  prepareReceiver(receiver);
  replayer = startReplayer();
});
afterAll(async () => {
  await replayer.close();
  await receiver.close();
});

const read = (file: string) => readFileSync(`${folder}${file}`, 'utf8');
const replayText = (text: string) => {
  const json = JSON.parse(text);
  return replayer.replay(historyFromJSON(json), json.events[0].workflowExecutionStartedEventAttributes.workflowId);
};

/** Stack traces tell where a checkout lies. */
const withoutPaths = (json: string) => json.replaceAll(/"stackTrace":\s*"[^"]*"/g, '"stackTrace": ""');

const groups = { ...recordedPaths, ...(isRecording ? { slow: slowPaths } : {}) };
for (const [group, paths] of Object.entries(groups)) {
  describe.concurrent(`a run that was just made replays on the same code: ${group}`, () => {
    let stack: OrderStack;
    beforeAll(async () => {
      // Tokens of a minute, so that an idle lease ends in two.
      const env = { ...webhookEnv(), ...receiver.env };
      stack = await startOrderStack({ sandbox: { business: { tokenLifetimeSeconds: 60 } }, env });
    });
    afterAll(() => stack.close());

    it.sequential.each(Object.entries(paths))('%s', { timeout: isRecording ? 600_000 : 60_000 }, async (name, path) => {
      const { workflowId, runId } = await path(stack);
      const history = await stack.client.workflow.getHandle(workflowId, runId).fetchHistory();
      if (isRecording) writeFileSync(fileOf(name), `${withoutPaths(historyToJSON(history))}\n`);
      await replayer.replay(history, workflowId);
    });
  });
}

describe('a recorded history replays on the code of today', () => {
  it.each(readdirSync(folder))('%s', (file) => replayText(read(file)));

  it('and every path has one', () => {
    const names = [...Object.values(recordedPaths), slowPaths].flatMap((paths) => Object.keys(paths));
    expect(names.filter((name) => !existsSync(fileOf(name)))).toEqual([]);
  });

  it.each([
    ['order-completed.json', 'observeOrder', 'observeRide'],
    ['token-renewed.json', 'requestToken', 'fetchToken'],
    ['order-that-tells-urls.json', 'notifyUrl', 'callUrl'],
    ['call-done.json', 'callService', 'askService'],
    ['report-read.json', 'readReceipt', 'fetchReceipt'],
    ['parked-routed.json', 'handOverDelivery', 'sendDelivery'],
    ['subscription-rotated-and-moved.json', 'createSubscriber', 'subscribeAnew'],
  ])('and one that does not fit is found out: %s', async (file, name, other) => {
    await expect(replayText(read(file).replaceAll(name, other))).rejects.toThrow();
  });
});
