import { createHmac } from 'node:crypto';
import { z } from 'zod';

const HeaderName = z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header');

/** Where a delivery carries `secret_id` (all assumed). */
export const SecretPlaceSchema = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('none') }),
  z.strictObject({ mode: z.literal('header'), name: HeaderName }),
  z.strictObject({
    mode: z.literal('body'),
    pointer: z
      .string()
      .regex(/^(\/\w+)+$/, 'must be a JSON pointer to a field')
      .default('/secret_id'),
  }),
  z.strictObject({
    mode: z.literal('hmac'),
    header: HeaderName,
    algorithm: z.literal('sha256').default('sha256'),
    encoding: z.enum(['hex', 'base64']).default('hex'),
    prefix: z.string().default(''),
    /** Of a compressed body: the bytes as they are sent, or before. */
    over: z.enum(['received', 'unpacked']).default('received'),
  }),
]);
export type SecretPlace = z.output<typeof SecretPlaceSchema>;

/** The body, with the secret in it if the settings say so. */
export function withSecretField(body: object, place: SecretPlace, secret: string): object {
  return place.mode === 'body' ? withField(body, place.pointer.slice(1).split('/'), secret) : body;
}

/** The object with a value put in at these names; the value itself where there is no name. */
export function withField(parent: object, [name, ...rest]: readonly string[], value: string | object): object {
  if (name === undefined) return Object(value);
  if (rest.length === 0) return { ...parent, [name]: value };
  const child: unknown = (parent as Record<string, unknown>)[name];
  return { ...parent, [name]: withField(typeof child === 'object' && child !== null ? child : {}, rest, value) };
}

/** The headers that carry the secret, or its mac of the body, as it is sent or before it was packed. */
export function secretHeaders(
  { sent, plain }: { sent: Buffer; plain: Buffer },
  place: SecretPlace,
  secret: string,
): Record<string, string> {
  if (place.mode === 'header') return { [place.name]: secret };
  if (place.mode !== 'hmac') return {};
  const mac = createHmac(place.algorithm, secret)
    .update(place.over === 'unpacked' ? plain : sent)
    .digest(place.encoding);
  return { [place.header]: `${place.prefix}${mac}` };
}
