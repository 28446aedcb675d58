import { z } from 'zod';
import { publishedShapes } from '../../../src/contracts/published-shapes.js';

type Schema = { properties?: Record<string, Schema>; anyOf?: Schema[]; items?: Schema };

/** The fields of what a program may send, as its published schema has them. */
export const fieldsSent = (name: keyof typeof publishedShapes): string[][] =>
  fieldsOf(z.toJSONSchema(publishedShapes[name], { io: 'input' }) as Schema);

function fieldsOf({ properties = {}, anyOf = [], items }: Schema, path: string[] = []): string[][] {
  const inner = [
    ...Object.entries(properties).flatMap(([name, field]) => fieldsOf(field, [...path, name])),
    ...anyOf.flatMap((one) => fieldsOf(one, path)),
    ...(items ? fieldsOf(items, [...path, '0']) : []),
  ];
  const own = path.length === 0 ? [] : [path];
  return [...own, ...inner].filter((one, at, all) => all.findIndex((other) => `${other}` === `${one}`) === at);
}
