import { z } from 'zod';
import type { BusinessOperation } from '../domain/call.js';
import { InvalidInput } from '../domain/errors.js';
import { readInstant } from '../domain/instant.js';
import { isJsonObject } from './json.js';

// The known fields of request bodies (published or assumed, docs/reference/service-facts.md). Only their form is checked: values such as
// `category` are the service's own. Unknown fields are sent unchanged. No message holds a value.

const Text = z.string('must be a text').min(1, 'must not be empty');
const Uuid = z.guid('must be a UUID');
const Coordinate = z.union([z.number(), z.string().regex(/^-?\d+(\.\d+)?$/, 'must be a number')], 'must be a number');
const Instant = Text.refine(
  (text) => readInstant(text) !== undefined,
  'must be an ISO 8601 instant with an offset, such as 2026-05-01T08:30:00Z',
);
const Point = z.looseObject({ lat: Coordinate, lng: Coordinate }, 'must be an object with lat and lng');

const User = z.looseObject(
  {
    name: Text,
    phone: Text.regex(/^[1-9]\d{5,14}$/, 'must be an international number in digits alone, without "+" and blanks'),
  },
  'must be an object with name and phone',
);

const Action = z.looseObject(
  { type: Text, user: User, parcel: z.looseObject({ name: Text }, 'must be an object with name').optional() },
  'must be an object with type and user',
);

const Stop = z.looseObject(
  { type: Text, actions: listOf(Action, 'action'), location: Point },
  'must be an object with type, actions and location',
);

const Reference = z.looseObject(
  { id: z.union([z.int(), Text], 'must be the id of a reference field'), title: Text, value: Text },
  'must be an object with id, title and value',
);

const orderFields = {
  category: Text,
  product_id: Uuid,
  stops: listOf(Stop, 'stop'),
  scheduled_at: Instant.optional(),
  quote_id: Uuid.optional(),
  note_to_driver: z.string('must be a text').max(100, 'must have at most 100 characters').optional(),
  references: z.array(Reference, 'must be an array').optional(),
};

const noObject = 'must be a JSON object';

const Order = z.looseObject(orderFields, noObject);

const UpdateOrderBody = z
  .looseObject(orderFields, noObject)
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'must name at least one field to change');

const ProductsQuestion = z.looseObject(
  { origin: Point, destination: Point.optional(), scheduled_at: Instant.optional() },
  noObject,
);

const EstimateQuestion = z.looseObject(
  {
    origin: Point,
    stops: z.array(Point, 'must be an array').optional(),
    destination: Point.optional(),
    product_id: Uuid.optional(),
    scheduled_at: Instant.optional(),
  },
  noObject,
);

// The service answers for each code, so one that it refuses must not keep the others from being added (published).
const Codes = listOf(z.looseObject({ value: z.string('must be a text') }, 'must be an object with value'), 'code');

const mostOfPage = 50;
const wholeNumber = (least: number, most: number) =>
  z.int('must be a whole number').min(least, `must be at least ${least}`).max(most, `must be at most ${most}`);

/** The query of a report page (published). One call is one page. */
const ReportQuery = z.strictObject(
  {
    since: Instant,
    to: Instant,
    limit: wholeNumber(1, mostOfPage).default(mostOfPage),
    offset: wholeNumber(0, 10_000_000).default(0),
  },
  { error: (issue) => (issue.code === 'unrecognized_keys' ? 'may hold since, to, limit and offset alone' : noObject) },
);

const shapes: Partial<Record<BusinessOperation, z.ZodType>> = {
  products: ProductsQuestion,
  priceEstimate: z.preprocess(withOneSpelling, EstimateQuestion),
  createOrder: z.preprocess(withOneSpelling, Order),
  updateOrder: z.preprocess(withOneSpelling, UpdateOrderBody),
  addReferenceCode: Codes,
  orderReport: ReportQuery,
};

function listOf<Shape extends z.ZodType>(shape: Shape, name: string) {
  return z.array(shape, 'must be an array').min(1, `must hold at least one ${name}`);
}

/** Callers may write `product_ID`; the service gets `product_id`. */
function withOneSpelling(body: unknown): unknown {
  if (!isJsonObject(body) || !Object.hasOwn(body, 'product_ID')) return body;
  const { product_ID: productId, ...rest } = body;
  return { product_id: productId, ...rest };
}

/** The body to send; undefined for an operation without one. Throws `InvalidInput` that names every bad field. */
export function parseCallBody(operation: BusinessOperation, body: unknown): unknown {
  const shape = shapes[operation];
  if (!shape) return undefined;
  const parsed = shape.safeParse(body);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${['body', ...path].map(String).join('.')}: ${message}`,
  );
  throw new InvalidInput(problems.join('; '));
}

/** Phone numbers in a body, which no text for people may repeat. */
export function phonesIn(body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([name, value]) =>
    name === 'phone' && typeof value === 'string' ? [value] : phonesIn(value),
  );
}
