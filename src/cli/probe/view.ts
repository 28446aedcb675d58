import { shapeLines } from '../../contracts/body-shape.js';
import { type Paint, type Pair, pairsText, plain, tableText } from '../text.js';
import type { Finding } from './asking.js';
import { limitHeadersOf } from './came.js';
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
  const values = Object.entries(came.values ?? {}).map(([pointer, value]) => `  ${pointer} = ${value}`);
  const shown = [...body, ...(values.length > 0 ? ['values', ...values] : []), ...said];
  return [title, ...table.split('\n'), ...shown.map(plain)]
    .map((line, at) => (at === 0 ? line : `  ${line}`))
    .join('\n');
}

function rowsOf({ expected, came, matched, token, changes }: Finding): string[][] {
  const { method, path, scope, success, source, pointers } = expected;
  const names = came?.headerNames ?? [];
  const rows = [
    ['request', `${method} ${path}`, ''],
    ['known how', source, changes.some(({ kind }) => kind === 'verified') ? 'it works' : ''],
    ['scope', scope === '' ? 'none' : scope, token === undefined ? '' : token.grantedScope || 'none'],
    ['HTTP status', success.join(' or '), String(came?.status ?? '-')],
    ...(pointers === undefined ? [] : pointerRows(pointers, matched)),
    ...(token === undefined ? [] : tokenRows(token)),
    ['rate limit headers', 'unknown', limitHeadersOf(names).join(', ') || 'none'],
    ['other headers', '', names.filter((name) => limitHeadersOf([name]).length === 0).join(', ') || 'none of interest'],
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

const tokenRows = ({ form, expiresIn, tokenType }: NonNullable<Finding['token']>): string[][] => [
  ['token', 'any', form],
  ['expires_in', 'seconds', expiresIn],
  ['token_type', 'bearer, in any spelling', tokenType],
];

/** What is to be done after all questions. */
export function closingText(findings: readonly Finding[], written: string | null, paint: Paint): string {
  const asksOf = (verdict: Verdict): string | null => {
    const asks = findings.filter((one) => one.verdict === verdict).map((one) => one.asks);
    return asks.length === 0 ? null : plain(asks.join(', '));
  };
  const limits = limitHeadersOf([...new Set(findings.flatMap(({ came }) => came?.headerNames ?? []))]);
  const pairs: Pair[] = [
    ['fits', asksOf('fits')],
    ['wrong', asksOf('wrong')],
    ['open', asksOf('open')],
    ['unanswered', asksOf('unanswered')],
    ['rate limit headers', limits.length === 0 ? 'none' : plain(limits.join(', '))],
    ['written', written === null ? null : plain(`${written}; name it in FARETRAIL_CONTRACT_FILE`)],
  ];
  return pairsText(pairs, paint);
}
