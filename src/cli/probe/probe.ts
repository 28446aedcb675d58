import { existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ContractProfile } from '../../contracts/contract-profile.js';
import { overridesOf, parseContractProfile } from '../../contracts/default-contract-profile.js';
import { InvalidInput } from '../../domain/errors.js';
import { type AccountName, type OrderId, toOrderId } from '../../domain/keys.js';
import type { EndStatus } from '../../domain/order/status.js';
import { createHttp } from '../../ride-api/http.js';
import { checked, inBrackets } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext } from '../command.js';
import { exitCodes } from '../failure.js';
import { type Finding, openTalk, type Talk } from './asking.js';
import { changeText } from './judging.js';
import { askAll, type KnownOrders } from './questions.js';
import { closingText, findingText } from './view.js';

const help = `
Asks the service itself, without Temporal: a token for each scope, each read
that the contract profile offers, and an order id that cannot exist. It asks
each once, at most four times a second, and changes nothing. It shows what the
profile expects beside what came: names and types of a body, and of its values
none but a word of a status that we do not know.

fits: as expected. wrong: a guess of the profile is wrong, with the field to
change. open: the answer proves nothing. unanswered: the service gave none.
Ends with 1 when something is wrong or unanswered.

--write makes a file for FARETRAIL_CONTRACT_FILE: what is in force now, with the
changes that fit the answers, and "verified" at each operation that was seen to
work. It needs the client secret of the account, as a worker does.`;

interface Given {
  account: AccountName;
  orderId?: OrderId;
  completed?: OrderId;
  cancelled?: OrderId;
  rejected?: OrderId;
  write?: string;
  overwrite?: true;
}

const endedOption = (end: Lowercase<EndStatus>) =>
  [`--${end} <orderId>`, `an order that ended as ${end}, to learn its word`, checked(toOrderId, `--${end}`)] as const;

/** `probe`: what the service really answers, beside what the contract profile expects. */
export const addProbe: AddCommand = (program, run) => {
  const does = 'compare the contract profile with what the service answers';
  const examples = ['business 7b21', 'business 7b21 --completed 7b02 --cancelled 7b03 --write contract.json'];
  addCommand(program, 'probe <account> [orderId]', { does, examples, more: help })
    .option(...endedOption('completed'))
    .option(...endedOption('cancelled'))
    .option(...endedOption('rejected'))
    .option('--write <file>', 'write the contract profile that fits the answers')
    .option('--overwrite', 'let --write replace a file')
    .action(run(probe));
};

async function probe(context: CommandContext, given: Given): Promise<number> {
  const { accounts, profile } = context.loadSettingsWithSecrets();
  const account = accounts.find(({ name }) => name === given.account);
  if (account === undefined) {
    const names = accounts.map(({ name }) => name).join(', ');
    throw new InvalidInput(`account: ${given.account} is not set here; set are: ${names || 'none'}`);
  }
  refuseToReplace(given);
  const orders = knownOrders(given);
  const http = createHttp();
  const talk = openTalk({ account, profile }, http);
  const { findings, tell } = createTeller(context);
  try {
    for await (const finding of askAll(talk, orders)) tell(finding);
    return tellEnd(context, { given, talk, findings });
  } finally {
    await http.close();
  }
}

/** The result, and the exit code. */
function tellEnd(
  context: CommandContext,
  { given, talk, findings }: { given: Given; talk: Talk; findings: Finding[] },
): number {
  const isAsExpected = findings.every(({ verdict }) => verdict === 'fits' || verdict === 'open');
  const changes = [...new Set(findings.flatMap((one) => one.changes.map(changeText)))];
  const hasNews = changes.length > 0;
  const written = given.write && hasNews ? write(given.write, talk.profile, given) : null;
  if (given.write && !hasNews) context.note(`${given.write} is not written: no answer proves or changes anything`);
  const answer = { account: talk.account.name, askedAt: new Date().toISOString(), isAsExpected, findings, changes };
  context.tell({ ...answer, written }, `\n${closingText(findings, written, context.paint)}`);
  return isAsExpected ? exitCodes.done : exitCodes.failed;
}

/** The orders that the operator names, each once. */
function knownOrders({ orderId, completed, cancelled, rejected }: Given): KnownOrders {
  const byEnd = { Completed: completed, Cancelled: cancelled, Rejected: rejected };
  const ended = Object.fromEntries(Object.entries(byEnd).filter(([, id]) => id !== undefined));
  const all = [orderId, completed, cancelled, rejected].filter((id) => id !== undefined);
  if (new Set(all).size < all.length) throw new InvalidInput('orderId: each order may be named once');
  return { orderId, ended };
}

/** Prints each finding as it comes, and keeps it. */
function createTeller(context: CommandContext) {
  const findings: Finding[] = [];
  const tell = (finding: Finding): void => {
    findings.push(finding);
    if (!context.isJson)
      context.tell(finding, `${findings.length === 1 ? '' : '\n'}${findingText(finding, context.paint)}`);
  };
  return { findings, tell };
}

function refuseToReplace({ write: file, overwrite }: Given): void {
  if (file === undefined && overwrite) throw new InvalidInput('--overwrite: only with --write');
  if (file !== undefined && !overwrite && existsSync(file))
    throw new InvalidInput(`--write: ${file} is there already; name another file, or give --overwrite`);
  if (file !== undefined && !existsSync(dirname(file)))
    throw new InvalidInput(`--write: ${file} cannot be written: there is no such folder`);
}

function write(file: string, profile: ContractProfile, { overwrite }: Given): string {
  const overrides = overridesOf(profile);
  parseContractProfile(overrides); // what a worker would refuse is not written
  try {
    writeFileSync(file, `${JSON.stringify(overrides, null, 2)}\n`, { flag: overwrite ? 'w' : 'wx' });
    return file;
  } catch (error) {
    throw new InvalidInput(`--write: ${file} cannot be written${inBrackets(error)}`);
  }
}
