import { FaretrailError } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import type { ReadTrouble } from '../domain/struggle.js';
import { toReadTrouble } from './read-trouble.js';

/** This worker cannot make an address: deliveries to it could be told from forged ones by nobody. */
export class WebhookKeysMissing extends FaretrailError<'WebhookKeysMissing'> {
  override readonly name = 'WebhookKeysMissing';

  constructor() {
    super('WebhookKeysMissing', 'this worker holds no webhook keys');
  }
}

/** What a failed call about subscribers means for the run. Undefined for errors that Temporal just repeats. */
export function toSubscriptionTrouble(
  error: unknown,
  { account }: { account: AccountName },
  now: number,
): ReadTrouble | undefined {
  if (error instanceof WebhookKeysMissing) {
    const remedy = 'Set FARETRAIL_WEBHOOK_KEYS for every worker, the same keys as for the ingress';
    return { code: 'credentialsRejected', message: `${error.message}. ${remedy}.` };
  }
  const trouble = toReadTrouble(error, { account }, now);
  // There is no status to read here: what is left is a subscription that the service refuses as it is asked for.
  if (trouble?.code !== 'unreadableStatus' || !(error instanceof Error)) return trouble;
  const remedy = 'Check the public URL, the permissions of the account and createSubscriber in the contract profile';
  return { ...trouble, code: 'forbidden', message: `${error.message}. ${remedy}.` };
}
