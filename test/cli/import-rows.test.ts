import { expect, it } from 'vitest';
import { readRows } from '../../src/cli/order/rows.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { textFile } from '../support/json-file.js';

/** The orders of a file, or why a row is refused. */
async function rowsIn(content: string | Uint8Array, ending = '.csv', account = 'business'): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const row of readRows(textFile(content, ending), account))
    rows.push(row instanceof InvalidInput ? row.message : row);
  return rows;
}
const order = (orderId: string, more: object = {}) => ({ account: 'business', orderId, ...more });

it.each([
  ['commas', 'orderId,reference\n1,"PO, 1; a"\n2,b\n'],
  ['semicolons', 'orderId;reference\n1;"PO, 1; a"\n2;b'],
  ['tabs', 'orderId\treference\n1\tPO, 1; a\n2\tb\n'],
  ['line ends of old computers', 'orderId\treference\r1\tPO, 1; a\r2\tb\r'],
  ['names as people write them', ' ORDER ID , Reference\n1,"PO, 1; a"\n2,b'],
  ['names as programs write them', 'order_id,REFERENCE\n1,"PO, 1; a"\n2,b'],
  ['empty rows and an empty column', 'orderId;reference;\n;;\n1;"PO, 1; a";\n\n2;b;\n;;\n'],
])('CSV is read with %s', async (_, text) => {
  expect(await rowsIn(text)).toEqual([order('1', { reference: 'PO, 1; a' }), order('2', { reference: 'b' })]);
});

it.each<[string, (text: string) => Buffer]>([
  ['UTF-8', (text) => Buffer.from(text)],
  ['UTF-8 with a byte order mark', (text) => Buffer.from(`\ufeff${text}`)],
  ['UTF-16, the low byte first', (text) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['UTF-16, the high byte first', (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
])('a file is read in %s', async (_, encoded) => {
  const orders = [order('1', { reference: 'Zürich' }), order('2', { reference: 'Żółć 🚕' })];
  expect(await rowsIn(encoded('orderId;reference\n1;Zürich\n2;Żółć 🚕\n'))).toEqual(orders);
  expect(await rowsIn(encoded(orders.map((one) => JSON.stringify(one)).join('\n')), '.jsonl')).toEqual(orders);
});

it('a row in another encoding is refused by its field, and the others are read', async () => {
  const refused = expect.stringMatching(/^reference: has characters that are not UTF-8, .*"CSV UTF-8"/);
  const file = Buffer.from('orderId,reference\n1,Zürich\n2,b\n3,é,\n4,d', 'latin1');
  const uneven = 'the row: has not as many fields as there are names of columns';
  expect(await rowsIn(file)).toEqual([refused, order('2', { reference: 'b' }), uneven, order('4', { reference: 'd' })]);
  const lines = Buffer.from('{"orderId":"1","reference":"é"}\n{"orderId":"2"}', 'latin1');
  expect(await rowsIn(lines, '.jsonl')).toEqual([refused, order('2')]);
});

it.each(['1.23E+11', '1.23457E+11', '1,23457E+11', '1E+11', '1.23457e+11', '-1.2E+11', '123.46E+9'])(
  'the id %s of a spreadsheet is refused by its field, since its digits are lost',
  async (id) => {
    const refused = expect.stringMatching(/^orderId: is a number that a spreadsheet has shortened/);
    expect(await rowsIn(`orderId;reference\n${id};a\n2;${id}`)).toEqual([
      refused,
      expect.stringMatching(/^reference: is a number that a spreadsheet/),
    ]);
    expect(await rowsIn(JSON.stringify({ orderId: id }), '.jsonl')).toEqual([refused]);
  },
);

it.each([
  ['a line that tells the separator', 'sep=;\r\norderId;reference\r\n1;"PO, 1"\r\n'],
  ['the same for another separator, in quotes', '"sep=|"\norderId|reference\n1|PO, 1\n'],
  ['the same in capitals', 'SEP=;\rorderId;reference\r1;"PO, 1"\r'],
])('a file of a spreadsheet is read with %s', async (_, text) => {
  expect(await rowsIn(text)).toEqual([order('1', { reference: 'PO, 1' })]);
});

it('fields that a spreadsheet protects are read as a person sees them', async () => {
  const lines = ['="2009";="NULL"', `"=""2010""";'2011`, `'2012;="say ""hi"""`, `2013;'s-Gravenhage 5" up`];
  expect(await rowsIn(['orderId;reference', ...lines].join('\n'))).toEqual([
    order('2009', { reference: 'NULL' }),
    order('2010', { reference: '2011' }),
    order('2012', { reference: 'say "hi"' }),
    order('2013', { reference: `'s-Gravenhage 5" up` }),
  ]);
});

const nothings = [
  'NULL',
  'null',
  '(null)',
  '\\N',
  'None',
  'NaN',
  '-',
  '–',
  'N/A',
  '#N/A',
  '#REF!',
  '#NAME?',
  'undefined',
];
it.each(nothings)('%s in place of nothing is refused by its field', async (word) => {
  const refusal = (field: string) => expect.stringMatching(`^${field}: is what a program writes in place of nothing`);
  expect(await rowsIn(`orderId;reference\n${word};a\n2;${word}`)).toEqual([refusal('orderId'), refusal('reference')]);
  expect(await rowsIn(JSON.stringify({ orderId: word }), '.jsonl')).toEqual([refusal('orderId')]);
});

it.each(['2015.0', '2015,00', '-7.0', '1,234,567', "1'234'567", '1 234 567', '1.234.567'])(
  'the id %s that a program has made of a number is refused by its field, and is taken as a reference',
  async (id) => {
    const refused = expect.stringMatching(/^orderId: is a number (to|in) which a/);
    expect(await rowsIn(`orderId;reference\n${id};a\n2;${id}`)).toEqual([refused, order('2', { reference: id })]);
    expect(await rowsIn(JSON.stringify({ orderId: id }), '.jsonl')).toEqual([refused]);
  },
);

it('a quote within an id is refused by its field', async () => {
  const refused = expect.stringMatching(/^orderId: has a quote within it/);
  expect(await rowsIn('orderId,reference\n1"2,a\n="3,b\n4,c')).toEqual([
    refused,
    refused,
    order('4', { reference: 'c' }),
  ]);
});

it('an id of hex digits is none of a spreadsheet', async () => {
  const ids = ['1e11', '12e11', '7b21', '123457000000', '1.23', '7e+x', 'A1E+11'];
  expect(await rowsIn(`orderId\n${ids.join('\n')}`)).toEqual(ids.map((id) => order(id)));
});

it('a wrong line of JSON is refused, and the others are read', async () => {
  const lines = ['{"orderId":"1"}', '{"orderId":', '7', '  ', '{"orderId":"2","driver":"x"}', '{"orderId":"3"}\0'];
  expect(await rowsIn(lines.join('\r\n'), '.jsonl')).toEqual([
    order('1'),
    'the row: not JSON',
    'input: must be a JSON object',
    expect.stringContaining('unknown field "driver"'),
    'the row: not JSON',
  ]);
});

it.each([
  ['a name that is none, with the nearest one', 'Order Nr,account\n1,a', /no column Order Nr; the nearest is orderId,/],
  ['a name twice', 'Order ID,orderId\n1,2', /two columns orderId/],
  ['UTF-16 without a byte order mark', Buffer.from('orderId\n1', 'utf16le'), /UTF-16 without a byte order mark/],
  ['UTF-32', Buffer.from('\ufeff\0o\0r\0', 'utf16le'), /UTF-32/],
  ['a quote that is never closed', `orderId,reference\n1,"a\n${'2,b\n'.repeat(260_000)}`, /from line \d+ \(CSV_MAX_/],
])('a file with %s is refused', async (_, content, why) => {
  await expect(rowsIn(content)).rejects.toThrow(why);
});

it('a file that cannot be read is refused', async () => {
  const read = async (file: string) => await readRows(file).next();
  await expect(read('/nonexistent.csv')).rejects.toThrow('/nonexistent.csv cannot be read (ENOENT)');
  await expect(read('/proc/self')).rejects.toThrow('/proc/self cannot be read (EISDIR)');
});

it('a column without a name may hold nothing', async () => {
  expect(await rowsIn('orderId,,reference\n1,,a\n2,b,c')).toEqual([
    order('1', { reference: 'a' }),
    expect.stringContaining('unknown field "column 2"'),
  ]);
});

it('a large file takes no more memory than a small one, and need not be read to its end', async () => {
  const reference = 'x'.repeat(200);
  const file = textFile(`orderId;reference\n${`7b21;${reference}\n`.repeat(60_000)}`, '.csv');
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  let count = 0;
  for await (const row of readRows(file, 'business')) {
    count += row instanceof InvalidInput ? Number.NaN : 1;
    most = Math.max(most, process.memoryUsage().arrayBuffers);
    if (count === 8_000) break;
  }
  expect(count).toBe(8_000);
  expect(most - before).toBeLessThan(8_000_000); // the file has 12 MB
});
