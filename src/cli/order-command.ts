import { type Command, InvalidArgumentError } from 'commander';
import { InvalidInput } from '../domain/errors.js';
import { type AccountName, type OrderId, toAccountName, toOrderId } from '../domain/keys.js';

/** What each command about one order is given. */
export type OrderArguments = [account: AccountName, orderId: OrderId];

/** Adds the arguments `<account> <orderId>`, checked before anything else happens. */
export const withOrderArguments = (command: Command): Command =>
  command
    .argument('<account>', 'name of the account, such as partner', checked(toAccountName))
    .argument('<orderId>', "the service's id of the order", checked(toOrderId));

/** Makes one of our parsers one of commander's: its `InvalidInput` becomes wrong usage. */
export const checked =
  <T>(parse: (text: string) => T) =>
  (text: string): T => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof InvalidInput) throw new InvalidArgumentError(`${error.message}.`);
      throw error;
    }
  };
