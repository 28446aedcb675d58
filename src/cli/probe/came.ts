import { type BodyShape, bodyShape, pointersWhere } from '../../contracts/body-shape.js';
import { valueAt } from '../../contracts/json.js';
import type { ApiReply } from '../../ride-api/http.js';

/** An answer as the probe shows it: never a value of the body unless the operator wants values, and never one about a person. */
export interface Came {
  /** The HTTP status; null where none was readable. */
  status: number | null;
  /** Names of the headers that say something about limits, ids of requests and versions. */
  headerNames: string[];
  /** Null where there was no body that can be read. */
  body: BodyShape | null;
  /** What the operator asked to see, by pointer; absent without `--values`. */
  values?: Record<string, string | number | boolean>;
}

/** A reply as the probe shows it. */
export function cameOf({ status, headerNames = [], body }: ApiReply, withValues: boolean): Came {
  const shown = headerNames.filter((name) => tellingHeader.test(name) && name.length <= 60).sort();
  const values = withValues ? { values: impersonalValues(body) } : {};
  return { status, headerNames: shown.slice(0, 20), body: body === undefined ? null : bodyShape(body), ...values };
}

const limitHeader = /rate-?limit|retry-after|quota|throttl/;
const tellingHeader = new RegExp(
  `^(?=[a-z0-9-]+$).*(${limitHeader.source}|request-id|correlation|trace|version|sunset|allow$)`,
);

/** Names of headers about rate limits. */
export const limitHeadersOf = (names: readonly string[]): string[] => names.filter((name) => limitHeader.test(name));

// A value is shown if its own name and its form say that it is not about a person, and no name on the way to it says that it is.
const personal =
  /driver|passenger|rider|person|people|user|employee|guest|customer|contact|requester|booker|owner|name|phone|mail|address|location|place|lat|lng|lon|url|plate|note|comment|message|description|secret|token|password|key|pin|otp/i;
const shownForms: readonly (readonly [name: RegExp, form: RegExp])[] = [
  [/(status|state|phase|stage|type|kind|currency)$/i, /^[A-Za-z][A-Za-z _-]{0,39}$/],
  [/(_at|At|time|Time|date|Date)$/, /^\d{4}-\d{2}-\d{2}[0-9T:.+Zz -]{0,25}$/],
  [/(amount|total|price|count|limit|expires_in)$/i, /^-?\d{1,9}(\.\d{1,4})?$/],
];

function impersonalValues(body: unknown): NonNullable<Came['values']> {
  const isShown = (pointer: string): boolean => {
    const value = valueAt(body, pointer);
    const name = pointer.slice(pointer.lastIndexOf('/') + 1);
    return (
      typeof value === 'boolean' || shownForms.some(([names, form]) => names.test(name) && form.test(String(value)))
    );
  };
  const places = pointersWhere(body, (value) => ['string', 'number', 'boolean'].includes(typeof value));
  const shown = places.filter((pointer) => !personal.test(pointer) && isShown(pointer));
  return Object.fromEntries(shown.map((pointer) => [pointer, valueAt(body, pointer) as string | number | boolean]));
}

const hidden = '[secret]';
const shortestSecret = 8;
/** Shorter parts of a secret may be ordinary words. */
const tellingPart = /[\w.~+/=-]{12,}/g;

/** A copy in which no text and no name holds one of the secrets: a service may repeat what it was sent. */
export function withoutSecrets<T>(shown: T, secrets: readonly string[]): T {
  const whole = secrets.filter((secret) => secret.length >= shortestSecret);
  const clean = (text: string): string =>
    whole
      .reduce((rest, secret) => rest.replaceAll(secret, hidden), text)
      .replaceAll(tellingPart, (part) => (whole.some((secret) => secret.includes(part)) ? hidden : part));
  const copy = (value: unknown): unknown => {
    if (typeof value === 'string') return clean(value);
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [clean(name), copy(one)]));
  };
  return copy(shown) as T;
}
