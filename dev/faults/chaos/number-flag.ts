import { InvalidArgumentError } from 'commander';

/** Reads a number of the command line, above 0. */
export function numberUpTo(max: number, { isWhole }: { isWhole: boolean }): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (number > 0 && number <= max && (!isWhole || Number.isInteger(number))) return number;
    throw new InvalidArgumentError(`must be a ${isWhole ? 'whole ' : ''}number above 0 and up to ${max}.`);
  };
}
