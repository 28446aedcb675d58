import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, sandboxCredentials, startSandbox } from '../../dev/sandbox/sandbox.js';
import { toReadTrouble } from '../../src/activities/looking.js';
import { interfaceTerms } from '../../src/contracts/contract-profile.js';
import { parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import type { Account } from '../../src/domain/account.js';
import { toOrderId } from '../../src/domain/keys.js';
import { TokenRefused } from '../../src/ride-api/errors.js';
import { createRideApi } from '../../src/ride-api/ride-api.js';
import { businessAccount, partnerAccount } from '../ride-api/accounts.js';
import { type Guess, guessesFor, wrongProfile } from '../support/wrong-guesses.js';

// The sandbox is the service, and the contract profile is wrong about it, one field at a time and several at once. Each guess that
// is wrong must be found in what the run shows: no guess may look like an outage or end a run.

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

/** What a run shows after a read under a profile with these guesses; null when the read succeeds. */
async function shownAfter(at: Account, guesses: readonly Guess[]): Promise<{ code: string; message: string } | null> {
  const { readOperation: operation } = interfaceTerms[at.interface];
  const api = createRideApi({ profile: parseContractProfile(wrongProfile(operation, guesses)) });
  const orderId = toOrderId(randomUUID());
  sandbox.addOrder({ interface: at.interface, orderId, script: [{ status: 'Driving', afterMs: 0 }] });
  try {
    const { accessToken } = await api.requestToken(at, api.scopeOf(at, operation));
    await api.readOrder(at, orderId, accessToken);
    return null;
  } catch (error) {
    // A run shows the words of the lease, which knows the scope and not the operation.
    if (error instanceof TokenRefused) return { code: error.code, message: error.message.replace('<name>', operation) };
    const trouble = toReadTrouble(error, { account: at.name, operation, orderId });
    if (!trouble) throw error;
    return trouble;
  } finally {
    await api.close();
  }
}

describe.each(['partner', 'business'] as const)('a wrong guess about reads at the %s interface', (name) => {
  const { readOperation: operation } = interfaceTerms[name];
  const guesses = guessesFor(operation);
  const account = (): Account => {
    const base = name === 'partner' ? partnerAccount(sandbox.url) : businessAccount(sandbox.url, sandbox.url);
    return { ...base, ...sandboxCredentials[name] };
  };

  it('is none in the default profile', async () => {
    expect(await shownAfter(account(), [])).toBeNull();
  });

  it.each(Object.entries(guesses))('%s is shown by its name', async (field, wrongs) => {
    for (const wrong of wrongs) {
      const shown = await shownAfter(account(), [wrong]);
      expect(shown?.message, JSON.stringify(wrong)).toContain(field);
      expect(['unreadableStatus', 'orderNotFound', 'forbidden', 'scopeRejected']).toContain(shown?.code);
    }
  });

  it('is shown by one of the names where several are wrong at once', async () => {
    const several = fc.subarray(Object.entries(guesses), { minLength: 2 });
    await fc.assert(
      fc.asyncProperty(several, async (fields) => {
        const shown = await shownAfter(
          account(),
          fields.map(([, [wrong = {}]]) => wrong),
        );
        expect(fields.some(([field]) => shown?.message.includes(field))).toBe(true);
      }),
      { numRuns: 20 },
    );
  });
});
