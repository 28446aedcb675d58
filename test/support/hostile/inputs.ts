import { type publishedSchemas, toPublishedSchema } from '../../../src/contracts/published-schemas.js';

type Schema = { properties?: Record<string, Schema>; anyOf?: Schema[]; items?: Schema };

/** The fields of what a program may send, as its published schema has them. */
export const fieldsSent = (name: keyof typeof publishedSchemas): string[][] => fieldsOf(toPublishedSchema(name));

function fieldsOf({ properties = {}, anyOf = [], items }: Schema, path: string[] = []): string[][] {
  const inner = [
    ...Object.entries(properties).flatMap(([name, field]) => fieldsOf(field, [...path, name])),
    ...anyOf.flatMap((one) => fieldsOf(one, path)),
    ...(items ? fieldsOf(items, [...path, '0']) : []),
  ];
  const own = path.length === 0 ? [] : [path];
  return [...own, ...inner].filter((one, at, all) => all.findIndex((other) => `${other}` === `${one}`) === at);
}
