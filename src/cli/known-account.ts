import { closestMatch } from 'leven';
import { InvalidInput } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { option } from './arguments.js';
import type { Act, CommandSpec } from './command.js';

// A run of an account that no worker serves waits for ever, and a mistyped name is such an account.

const flag = '--unknown-account';

/** The accounts of the settings at hand. */
type Known = readonly { name: AccountName }[];

/** Why the settings do not know this account; it names the nearest that they know. */
export function unknownAccount(account: AccountName, known: Known): InvalidInput {
  const nearest = closestMatch(
    account,
    known.map(({ name }) => name),
  );
  const hint = nearest === undefined ? 'they know none' : `did you mean ${nearest}?`;
  return new InvalidInput(`account: these settings do not know ${account}; ${hint}`);
}

/** Why no run of this account may start. Undefined: it may, as the settings know the account, or none at all and so cannot tell. */
export function refusalOf(account: AccountName, known: Known): InvalidInput | undefined {
  if (known.length === 0 || known.some(({ name }) => name === account)) return undefined;
  return new InvalidInput(`${unknownAccount(account, known).message} To use it all the same: ${flag}`);
}

/** What a command that starts a run takes. */
export interface AccountGiven {
  account?: AccountName;
  unknownAccount?: boolean;
}

/** A command that starts a run of an account: it refuses an account that the settings do not know, before it connects. */
export function startingRun<Spec extends CommandSpec>(spec: Spec): Spec {
  const { options = [], act } = spec;
  const checked: Act<AccountGiven> = async (context, given) => {
    const { account, unknownAccount: isAllowed = false } = given;
    const refusal = account && !isAllowed ? refusalOf(account, context.loadSettings(context.env).accounts) : undefined;
    if (refusal) throw refusal;
    return await (act as Act<AccountGiven>)(context, given);
  };
  const allowing = option(flag, 'also for an account that only other settings know');
  return { ...spec, options: [...options, allowing], act: checked };
}
