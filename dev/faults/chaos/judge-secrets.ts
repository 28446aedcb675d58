import { fakeDriver } from '../../sandbox/order/bodies.js';
import { findLeaks } from './leaks.js';
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
  const texts: Record<string, Buffer> = { database: await stage.readDatabase() };
  // The log of the sandbox may hold its secrets.
  for (const { name, output } of Object.values(stage.members).filter((one) => one.name !== 'sandbox'))
    texts[`log of ${name}`] = output();
  for (const name of ['worker-1', 'worker-2', 'ingress'] as const)
    texts[`metrics of ${name}`] = Buffer.from((await stage.metrics(name)) ?? '');
  const searched = Object.values(texts).reduce((sum, { length }) => sum + length, 0);
  return {
    problems: findLeaks(secrets, texts).map((leak) => `secret found: ${leak}`),
    figures: { secretsSought: Object.keys(secrets).length, megabytesSearched: Math.round(searched / 1e6) },
  };
}
