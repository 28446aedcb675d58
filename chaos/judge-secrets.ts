import { existsSync, readFileSync } from 'node:fs';
import { fakeDriver } from '../sandbox/order-bodies.js';
import { findLeaks } from './leaks.js';
import { processNames } from './plan.js';
import { passenger } from './ride-bodies.js';
import type { Stage } from './stage.js';
import type { Verdict } from './verdict.js';

/** All secrets, by name. */
export async function secretsOf({ sandbox, settingSecrets, deployment }: Stage): Promise<Record<string, string>> {
  const tokens = (await sandbox.issuedTokens()).map((token, i) => [`token ${i}`, token]);
  const subscribers = (await sandbox.subscribers()).map(({ secretId }, i) => [`secret of subscriber ${i}`, secretId]);
  return {
    ...settingSecrets,
    ...Object.fromEntries([...tokens, ...subscribers]),
    driverName: fakeDriver.name,
    driverPhone: fakeDriver.phone,
    ...(deployment.encrypts && passenger),
  };
}

/** Searches the database, the logs and the metrics. The judge searches each history when it reads it. */
export async function judgeSecrets(stage: Stage, secrets: Record<string, string>): Promise<Verdict> {
  const files = [stage.databaseFile, `${stage.databaseFile}-wal`].filter((file) => existsSync(file));
  const texts: Record<string, Buffer> = { database: Buffer.concat(files.map((file) => readFileSync(file))) };
  // The log of the sandbox may hold its secrets.
  for (const name of processNames.filter((one) => one !== 'sandbox'))
    texts[`log of ${name}`] = stage.members[name].output();
  for (const name of ['worker-1', 'worker-2', 'ingress'] as const)
    texts[`metrics of ${name}`] = Buffer.from((await stage.metrics(name)) ?? '');
  const searched = Object.values(texts).reduce((sum, { length }) => sum + length, 0);
  return {
    problems: findLeaks(secrets, texts).map((leak) => `secret found: ${leak}`),
    figures: { secretsSought: Object.keys(secrets).length, megabytesSearched: Math.round(searched / 1e6) },
  };
}
