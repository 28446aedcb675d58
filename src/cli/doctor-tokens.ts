import { createTokenSource, TokenUnavailable } from '../activities/token-source.js';
import type { ContractProfile } from '../contracts/contract-profile.js';
import type { Account } from '../domain/account.js';
import type { Scope } from '../domain/keys.js';
import type { SealedToken } from '../domain/token-lease.js';
import { orderScope } from '../ride-api/orders.js';
import type { KeyRing } from '../sealing/key-ring.js';
import { createSealer, SealingError } from '../sealing/sealer.js';
import { createTokenLeases } from '../temporal/token-leases.js';
import { toCliError } from './cli-failure.js';
import type { Session } from './command-context.js';
import type { Check } from './doctor-checks.js';

/** Above the 10 s for which a token source waits. */
const tokenTimeoutMs = 20_000;

/** The scopes of the tokens that an account's work needs. */
const scopesOf = (account: Account, profile: ContractProfile): Scope[] => [orderScope(account, profile)];

/** Gets each token as a worker does: through the fleet's lease, so a token that serves is not asked for again (I4). */
export async function checkTokens(
  session: Session,
  accounts: readonly Account[],
  sealingKeys: KeyRing,
): Promise<Check[]> {
  const { client, config } = session;
  const sealer = createSealer(sealingKeys);
  const leases = createTokenLeases(client, config.taskQueue);
  const credentialId = ({ clientId, clientSecret }: Account): string => sealer.keyedHash(clientId, clientSecret);
  const unseal = ({ sealed }: SealedToken, leaseId: string): Promise<string> => sealer.unseal(sealed, leaseId);
  const source = createTokenSource({ leases, unseal, credentialId });

  async function check(account: Account, scope: Scope): Promise<Check> {
    const name = `token of ${account.name}`;
    const what = scope === '' ? 'without scope' : `for scope ${scope}`;
    const key = { account: account.name, scope, credentialId: credentialId(account) };
    try {
      const lease = await session.within(tokenTimeoutMs, async () => {
        await source.get(account, scope);
        return await leases.read(key);
      });
      // A token that has not expired may have been rejected by the service, and its renewal refused.
      if (lease?.failure) return { name, result: 'failed', message: `${what}: ${lease.failure.message}` };
      return { name, result: 'ok', message: `${what}, by the fleet's lease` };
    } catch (error) {
      return { name, result: 'failed', message: `${what}: ${whyNoToken(error)}` };
    }
  }

  const wanted = accounts.flatMap((account) => scopesOf(account, config.profile).map((scope) => ({ account, scope })));
  return await Promise.all(wanted.map(({ account, scope }) => check(account, scope)));
}

function whyNoToken(error: unknown): string {
  if (error instanceof TokenUnavailable && error.code === 'upstreamUnavailable') {
    return `${error.message} Check that a worker with the same credentials and sealing keys runs, and see: faretrail tokens`;
  }
  if (error instanceof SealingError) return `${error.message} (FARETRAIL_SEALING_KEYS must be those of the workers)`;
  return toCliError(error).message;
}
