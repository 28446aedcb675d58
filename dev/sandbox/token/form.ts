/** The encodings of a token request. */
export type FormEncoding = 'urlencoded' | 'multipart';

const mediaTypes: Record<string, FormEncoding> = {
  'application/x-www-form-urlencoded': 'urlencoded',
  'multipart/form-data': 'multipart',
};

export const mediaTypeOf = (contentType: string | undefined): string =>
  (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** Reads the fields of a token request. Undefined if the encoding is not accepted, or the body cannot be read. */
export async function readTokenForm(
  contentType: string | undefined,
  body: Buffer,
  accepted: readonly FormEncoding[],
): Promise<URLSearchParams | undefined> {
  const encoding = mediaTypes[mediaTypeOf(contentType)];
  if (encoding === undefined || !accepted.includes(encoding)) return undefined;
  if (encoding === 'urlencoded') return new URLSearchParams(body.toString('utf8'));
  return readMultipart(contentType ?? '', body);
}

async function readMultipart(contentType: string, body: Buffer): Promise<URLSearchParams | undefined> {
  try {
    const form = await new Response(body, { headers: { 'content-type': contentType } }).formData();
    const fields = new URLSearchParams();
    for (const [name, value] of form) if (typeof value === 'string') fields.append(name, value);
    return fields;
  } catch {
    return undefined;
  }
}
