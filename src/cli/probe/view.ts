import { shapeLines } from '../../contracts/body-shape.js';
import { type Paint, type Pair, pairsText, plain, tableText } from '../text.js';
import type { Finding } from './asking.js';
import { changeText, type Verdict } from './judging.js';

const tones = { fits: 'good', wrong: 'bad', open: 'faint', unanswered: 'bad' } as const satisfies Record<
  Verdict,
  string
>;

/** One finding: what the profile expects beside what came, the shape of the body, and what to change. */
export function findingText(finding: Finding, paint: Paint): string {
  const { asks, verdict, came, remarks, changes } = finding;
  const title = `${paint('strong', plain(asks))}: ${paint(tones[verdict], verdict)}`;
  const said = [...remarks.map((one) => `- ${one}`), ...changes.map((one) => `* ${changeText(one)}`)];
  if (came === null) return [title, ...said.map((line) => `  ${plain(line)}`)].join('\n');
  const table = tableText(['', 'expected', 'came'], rowsOf(finding), paint);
  const body =
    came.body === null
      ? ['body', '  none that can be read']
      : ['body', ...shapeLines(came.body).map((line) => `  ${line}`)];
  return [title, ...[...table.split('\n'), ...[...body, ...said].map(plain)].map((line) => `  ${line}`)].join('\n');
}

function rowsOf({ expected, came, matched, changes }: Finding): string[][] {
  const { method, path, scope, success, source, pointers } = expected;
  const rows = [
    ['request', `${method} ${path}`, ''],
    ['known how', source, changes.some(({ kind }) => kind === 'verified') ? 'it works' : ''],
    ['scope', scope === '' ? 'none' : scope, ''],
    ['HTTP status', success.join(' or '), String(came?.status ?? '-')],
    ...(pointers === undefined ? [] : pointerRows(pointers, matched)),
    ['headers', 'unknown', came?.headerNames.join(', ') || 'none'],
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
export function closingText(findings: readonly Finding[], written: string | null, paint: Paint): string {
  const byVerdict = Object.keys(tones).map((verdict): Pair => {
    const asks = findings.filter((one) => one.verdict === verdict).map((one) => one.asks);
    return [verdict, asks.length === 0 ? null : plain(asks.join(', '))];
  });
  const hint = written === null ? null : plain(`${written}; name it in FARETRAIL_CONTRACT_FILE`);
  return pairsText([...byVerdict, ['written', hint]], paint);
}
