import { randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { nodeArgs } from '../../stack/run/node-args.js';
import { clockAhead } from './clock.js';
import type { Launch, Member } from './member.js';
import type { Deployment, WorkerName } from './plan.js';
import type { WrongGuess } from './wrong-guesses.js';

/** The part of a deployment that an operator changes while it runs. Processes read it when they start. */
export interface Changeable {
  /** What all processes have. */
  env: Record<string, string>;
  workerLaunch(name: WorkerName, env: Record<string, string>): Launch;
  /** Puts an error into the contract profile; null: takes it out. */
  mislead(guess: WrongGuess | null): void;
  /** The second version becomes the current one, where there are two. */
  roll(client: Client): Promise<void>;
  /** Has all workers know a new payload key, then write with it. Gives up when `isOver`. */
  rotateKeys(members: readonly Member[], isOver: () => boolean): Promise<void>;
  /** All payload keys that there will be. */
  payloadKeys: readonly string[];
}

const deploymentName = 'rides';
const buildIds = { first: 'first', second: 'second' } as const;
/** More than a run rotates. */
const keys = 30;
const pauseMs = 200;

export function createChangeable(folder: string, profile: object, about: Deployment): Changeable {
  const contractFile = join(folder, 'contract.json');
  const keysFile = join(folder, 'payload-keys');
  const payloadKeys = Array.from({ length: about.encrypts ? keys : 0 }, (_, i) => newKey(`p${i + 1}`));
  let known = 1;

  function mislead(guess: WrongGuess | null): void {
    const { operations = {}, ...rest } = profile as { operations?: object };
    const wrong = (guess ?? {}) as { operations?: object };
    const operationsNow = { ...operations, ...wrong.operations };
    replaceFile(contractFile, JSON.stringify({ ...rest, ...guess, operations: operationsNow }));
  }

  const writeKeys = (kids: readonly string[]): void => replaceFile(keysFile, kids.join(','));

  mislead(null);
  if (about.encrypts) writeKeys(payloadKeys.slice(0, 1));
  const versionOf = (name: WorkerName): Record<string, string> =>
    about.versioned
      ? {
          TEMPORAL_DEPLOYMENT_NAME: deploymentName,
          TEMPORAL_WORKER_BUILD_ID: name === 'worker-2' ? buildIds.second : buildIds.first,
        }
      : {};
  return {
    env: {
      FARETRAIL_CONTRACT_FILE: contractFile,
      ...(about.encrypts && { FARETRAIL_ENCRYPT_PAYLOADS: 'true', FARETRAIL_PAYLOAD_KEYS_FILE: keysFile }),
    },
    payloadKeys,
    mislead,
    workerLaunch(name, env) {
      const clock = name === 'worker-2' ? clockAhead(about.clockAheadMs) : {};
      return { argv: nodeArgs('worker'), env: { ...env, ...clock, ...versionOf(name) } };
    },
    async roll(client) {
      if (about.versioned) await makeCurrent(client, buildIds.second);
    },
    async rotateKeys(members, isOver) {
      const [next] = payloadKeys.slice(known, known + 1);
      if (next === undefined) return;
      const before = payloadKeys.slice(0, known).reverse();
      for (const list of [
        [...before, next],
        [next, ...before],
      ]) {
        writeKeys(list);
        const since = Date.now();
        const haveRead = () => members.every((member) => (member.starts().at(-1)?.at ?? 0) > since);
        while (!haveRead() && !isOver()) await sleep(pauseMs);
        if (!haveRead()) return;
      }
      known += 1;
    },
  };
}

const newKey = (kid: string): string => `${kid}:${randomBytes(32).toString('base64url')}`;

/** A process that starts meanwhile reads the former text or the new one, never half of it or none. */
function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.next`, text, { mode: 0o600 });
  renameSync(`${path}.next`, path);
}

/** As `temporal worker deployment set-current-version` does. A version is known once its workers have polled. */
async function makeCurrent(client: Client, buildId: string): Promise<void> {
  const { namespace } = client.options;
  for (;;) {
    const set = client.workflowService.setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId });
    const isSet = await set.then(
      () => true,
      () => false,
    );
    if (isSet) return;
    await sleep(pauseMs);
  }
}

/** The version with which a deployment begins. */
export const makeFirstCurrent = (client: Client): Promise<void> => makeCurrent(client, buildIds.first);
