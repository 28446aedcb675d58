import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bodyShape, pointersWhere, shapeLines } from '../../src/contracts/body-shape.js';
import { valueAt } from '../../src/contracts/json.js';

const order = {
  order: { id: 4711, status: 'Driving', stops: [{ name: 'Anna' }, { name: null }], paid: true },
  phones: { '+15550001111': 'Anna', 'c0ffee00-aaaa-4bbb-8ccc-1234567890ab': 1 },
};

it('holds names and types, and no value, nor a name that may be one', () => {
  expect(shapeLines(bodyShape(order))).toEqual([
    ...['(body): object', '/order: object', '/order/id: number', '/order/paid: boolean', '/order/status: text'],
    ...['/order/stops: list', '/order/stops/*: object', '/order/stops/*/name: null or text'],
    ...['/phones: object', '/phones/*: number or text'],
  ]);
});

it('is the same for bodies that differ in values and in the order of their fields', () => {
  const turned = { phones: { '777777': 'x', '888888': 3 }, order: { ...order.order, id: 1, status: 'Routing' } };
  expect(bodyShape(turned)).toEqual(bodyShape(order));
});

it.each([
  ['no body', undefined, '(body): none'],
  ['a bare list', [], '(body): list'],
  ['a bare text', 'Driving', '(body): text'],
])('reads %s', (_, body, line) => {
  expect(shapeLines(bodyShape(body))).toEqual([line]);
});

it('is bounded in depth and size, and says that it was cut', () => {
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`);
  const wide = Object.fromEntries(
    Array.from({ length: 90_000 }, (_, index) => [`f${'abcdefghij'[index % 10]}_${index}`, 1]),
  );
  const broad = Array.from({ length: 100 }, () =>
    Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => [1])),
  );
  for (const body of [deep, wide, broad]) {
    const shape = bodyShape(body);
    expect(shape.isCut).toBe(true);
    expect(JSON.stringify(shape).length).toBeLessThan(30_000);
    expect(shapeLines(shape).at(-1)).toBe('(the body holds more)');
  }
});

it('names the places of wanted values, each of which can be followed', () => {
  const body = { result: { state: 'Driving', log: ['Driving'], byId: { '4711000': { state: 'Driving' } } }, a: 'x' };
  expect(pointersWhere(body, (value) => value === 'Driving')).toEqual(['/result/state', '/result/log/0']);
});

it('holds no text of a body, whatever the body is', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (body) => {
      const secret = 'SECRET-98765';
      const shape = bodyShape({ body, kept: [secret, { [secret]: secret }] });
      expect(JSON.stringify(shape)).not.toContain(secret);
      const pointers = pointersWhere({ body }, (value) => typeof value === 'number');
      for (const pointer of pointers) expect(valueAt({ body }, pointer)).toBeTypeOf('number');
    }),
  );
});
