import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type RecordedPath, recordedPaths } from '../support/recorded-paths.js';
import { startTimeSkippingStack, type TimeSkippingStack } from '../support/time-skipping-stack.js';

const folder = fileURLToPath(new URL('../histories/', import.meta.url));
const fileOf = (name: string) => `${folder}${name}.json`;
/** Writes what the paths leave behind, to be committed: needed for a new path, and once per release. */
const isRecording = process.env.FARETRAIL_TEST_RECORD === 'true';

let stack: TimeSkippingStack;
beforeAll(async () => {
  stack = await startTimeSkippingStack();
});
afterAll(() => stack.close());

const replay = (history: unknown, workflowId: string) =>
  Worker.runReplayHistory({ workflowBundle: { codePath: inject('workflowBundlePath') } }, history as never, workflowId);

describe('a run that was just made replays on the same code', () => {
  it.each(Object.entries(recordedPaths))('%s', async (name, path: RecordedPath) => {
    const before = stack.onTokenRequest;
    const { handle, runId } = await path(stack).finally(() => {
      stack.onTokenRequest = before;
    });
    const history = await stack.env.client.workflow.getHandle(handle.workflowId, runId).fetchHistory();
    if (isRecording) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(fileOf(name), `${historyToJSON(history)}\n`);
    }
    await replay(history, handle.workflowId);
  });
});

describe('a recorded history replays on the code of today', () => {
  it.each(existsSync(folder) ? readdirSync(folder) : [])('%s', async (file) => {
    const json = JSON.parse(readFileSync(`${folder}${file}`, 'utf8'));
    const started = json.events[0].workflowExecutionStartedEventAttributes;
    await replay(historyFromJSON(json), started.workflowId);
  });

  it('and every path has one', () => {
    expect(Object.keys(recordedPaths).filter((name) => !existsSync(fileOf(name)))).toEqual([]);
  });

  it('a history that does not fit is found out', async () => {
    const [file = ''] = readdirSync(folder);
    const text = readFileSync(`${folder}${file}`, 'utf8')
      .replaceAll('observeOrder', 'observeRide')
      .replaceAll('requestToken', 'fetchToken');
    const json = JSON.parse(text);
    await expect(
      replay(historyFromJSON(json), json.events[0].workflowExecutionStartedEventAttributes.workflowId),
    ).rejects.toThrow();
  });
});
