import { isJsonObject, type JsonObject, ownValue } from './json-object.js';

/** Words for "there already"; which one the service uses is unknown. */
const duplicateCode = /duplicat|exist|taken|uniq|conflict/i;

function codesOf(error: JsonObject): unknown[] {
  const fields = error.field_errors;
  return [error.code, ...(Array.isArray(fields) ? fields.map((field) => ownValue(field, 'code')) : [])];
}

const isDuplicate = (error: unknown): error is JsonObject & { index: number } =>
  isJsonObject(error) &&
  Number.isSafeInteger(error.index) &&
  codesOf(error).some((code) => typeof code === 'string' && duplicateCode.test(code));

/**
 * The answer to codes that had been sent before, with nothing heard of it: those refused as duplicates are there as they were
 * meant, so they count as added (R14), with a null `id`. Any other answer stays as it came.
 */
export function withDuplicatesAdded(body: unknown, sent: unknown): unknown {
  const errors = ownValue(body, 'errors');
  if (!isJsonObject(body) || !Array.isArray(errors) || !Array.isArray(sent)) return body;
  const added = errors
    .filter(isDuplicate)
    .flatMap(({ index }) => (index in sent ? [{ id: null, value: ownValue(sent[index], 'value') }] : []));
  if (added.length === 0) return body;
  const left = errors.filter((error) => !(isDuplicate(error) && error.index in sent));
  const data = Array.isArray(body.data) ? body.data : [];
  return { ...body, has_errors: left.length > 0, data: [...data, ...added], errors: left };
}
