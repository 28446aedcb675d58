import { existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { shapeLines } from '../../contracts/body-shape.js';
import type { ContractProfile } from '../../contracts/contract-profile.js';
import { overridesOf, parseContractProfile } from '../../contracts/default-contract-profile.js';
import { InvalidInput } from '../../domain/errors.js';
import type { AccountName, OrderId } from '../../domain/keys.js';
import { createHttp } from '../../ride-api/http.js';
import { inBrackets } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext } from '../command.js';
import { exitCodes } from '../failure.js';
import { type Paint, type Pair, pairsText, plain, tableText } from '../text.js';
import { askAll, type Finding, openProbe } from './asking.js';
import { changeText, type Verdict } from './judging.js';

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

/** `probe`: what the service really answers, beside what the contract profile expects. */
export const addProbe: AddCommand = (program, run) => {
  const does = 'compare the contract profile with what the service answers';
  const examples = ['business 7b21', 'business 7b21 --write contract.json'];
  addCommand(program, 'probe <account> [orderId]', { does, examples, more: help })
    .option('--write <file>', 'write the contract profile that fits the answers into a new file')
    .action(run(probe));
};

interface Given {
  account: AccountName;
  orderId?: OrderId;
  write?: string;
}

async function probe(context: CommandContext, { account: name, orderId, write: file }: Given): Promise<number> {
  const { accounts, profile } = context.loadSettingsWithSecrets();
  const account = accounts.find((one) => one.name === name);
  if (account === undefined) {
    const names = accounts.map((one) => one.name).join(', ');
    throw new InvalidInput(`account: ${name} is not set here; set are: ${names || 'none'}`);
  }
  if (file !== undefined) refuseUnwritable(file);
  const http = createHttp();
  const asked = openProbe({ account, profile }, http);
  const findings: Finding[] = [];
  try {
    for await (const finding of askAll(asked, orderId)) {
      findings.push(finding);
      if (!context.isJson) context.tell(finding, `${findingText(finding, context.paint)}\n`);
    }
  } finally {
    await http.close();
  }
  const isAsExpected = findings.every(({ verdict }) => verdict === 'fits' || verdict === 'open');
  const changes = [...new Set(findings.flatMap((one) => one.changes.map(changeText)))];
  const written = file !== undefined && changes.length > 0 ? file : null;
  if (written !== null) write(written, asked.profile);
  else if (file !== undefined) context.note(`${file} is not written: no answer proves or changes anything`);
  const answer = { account: name, askedAt: new Date().toISOString(), isAsExpected, findings, changes, written };
  context.tell(answer, closingText(findings, written, context.paint));
  return isAsExpected ? exitCodes.done : exitCodes.failed;
}

function refuseUnwritable(file: string): void {
  if (existsSync(file)) throw new InvalidInput(`--write: ${file} is there already; name another file`);
  if (!existsSync(dirname(file))) throw new InvalidInput(`--write: ${file} cannot be written: there is no such folder`);
}

function write(file: string, profile: ContractProfile): void {
  const overrides = overridesOf(profile);
  parseContractProfile(overrides); // what a worker would refuse is not written
  try {
    writeFileSync(file, `${JSON.stringify(overrides, null, 2)}\n`, { flag: 'wx' });
  } catch (error) {
    throw new InvalidInput(`--write: ${file} cannot be written${inBrackets(error)}`);
  }
}

const tones = { fits: 'good', wrong: 'bad', open: 'faint', unanswered: 'bad' } as const satisfies Record<
  Verdict,
  string
>;

/** One finding: what the profile expects beside what came, the shape of the body, and what to change. */
function findingText(finding: Finding, paint: Paint): string {
  const { asks, verdict, came, remarks, changes } = finding;
  const title = `${paint('strong', plain(asks))}: ${paint(tones[verdict], verdict)}`;
  const said = [...remarks.map((one) => `- ${one}`), ...changes.map((one) => `* ${changeText(one)}`)];
  if (came === null) return [title, ...said.map((line) => `  ${plain(line)}`)].join('\n');
  const table = tableText(['', 'expected', 'came'], rowsOf(finding), paint);
  const body = came.body === null ? ['none that can be read'] : shapeLines(came.body);
  const lines = ['body', ...body.map((line) => `  ${line}`), ...said].map(plain);
  return [title, ...[...table.split('\n'), ...lines].map((line) => `  ${line}`)].join('\n');
}

function rowsOf({ expected, came, matched, changes }: Finding): string[][] {
  const { method, path, scope, success, source, pointers } = expected;
  const rows = [
    ['request', `${method} ${path}`, ''],
    ['known how', source, changes.some(({ kind }) => kind === 'verified') ? 'it works' : ''],
    ['scope', scope === '' ? 'none' : scope, ''],
    ['HTTP status', success.join(' or '), String(came?.status ?? '-')],
    ...(pointers === undefined ? [] : pointerRows(pointers, matched)),
  ];
  return rows.map((row) => row.map(plain));
}

function pointerRows(pointers: NonNullable<Finding['expected']['pointers']>, matched: Finding['matched']): string[][] {
  const first = ([one = '', ...others]: readonly string[]): string =>
    others.length === 0 ? one : `${one}, or ${others.length} others`;
  const word = matched?.isKnownStatus ? 'a word that we know' : 'a word that we do not know';
  return [
    ['status at', first(pointers.status), matched?.status ? `${matched.status}: ${word}` : 'at none of them'],
    ['order id at', first(pointers.orderId), matched?.orderId ?? 'at none of them'],
  ];
}

/** The result of all questions. */
function closingText(findings: readonly Finding[], written: string | null, paint: Paint): string {
  const byVerdict = Object.keys(tones).map((verdict): Pair => {
    const asks = findings.filter((one) => one.verdict === verdict).map((one) => one.asks);
    return [verdict, asks.length === 0 ? null : plain(asks.join(', '))];
  });
  const hint = written === null ? null : plain(`${written}; name it in FARETRAIL_CONTRACT_FILE`);
  return pairsText([...byVerdict, ['written', hint]], paint);
}
