import { z } from 'zod';
import { type RideInterface, rideInterfaces } from '../domain/account.js';
import { businessOperations } from '../domain/call.js';
import { rideStatuses } from '../domain/order/status.js';

const Pointer = z.string().regex(/^(\/[^/]*)+$/, 'must be a JSON pointer such as /order/status');
const Pointers = z.array(Pointer).min(1);
const HttpStatus = z.int().min(100).max(599);

/** How a token request can carry its fields. */
export const tokenEncodings = ['urlencoded', 'multipart', 'json'] as const;

const operationNames = [
  'orderStatus',
  ...businessOperations,
  ...(['createSubscriber', 'listSubscribers', 'deleteSubscriber'] as const),
] as const;

const Operation = z.strictObject({
  interface: z.enum(rideInterfaces),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: z.string().startsWith('/'),
  /** Scope values separated by a blank; they become part of workflow ids. */
  scope: z.string().regex(/^([\w.:-]+( [\w.:-]+)*)?$/, 'must be scope values separated by a blank'),
  success: z.array(HttpStatus).min(1),
  /** `given`: our source document states method and path. `published`: a public page of the service does, and nobody has seen them work.
   *  `verified`: they were seen to work. docs/reference/service-facts.md lists the sources. */
  source: z.enum(['given', 'published', 'assumed', 'verified']),
  /** The day on which `probe` saw it work. */
  verifiedOn: z.iso.date().optional(),
  enabled: z.boolean().optional(),
  /** The header that carries the id of a request, the same in each repeat. Empty for none, so that an override can remove it. */
  requestIdHeader: z.string().optional(),
  /** Of `createOrder`: the service was seen to make one order of all requests with the same id. Until then one whose outcome is unknown is not repeated. */
  repeatable: z.boolean().optional(),
});

const Verification = z.discriminatedUnion(
  'mode',
  [
    z.strictObject({ mode: z.literal('signed') }),
    z.strictObject({ mode: z.literal('path') }),
    z.strictObject({
      mode: z.literal('hmac'),
      header: z.string().min(1),
      algorithm: z.literal('sha256').default('sha256'),
      encoding: z.enum(['hex', 'base64']).default('hex'),
      prefix: z.string().default(''),
      /** Of a compressed body: the bytes as they came, or the unpacked ones. */
      over: z.enum(['received', 'unpacked']).default('received'),
    }),
  ],
  // Up to 0.2.0 there were the modes `header` and `body`, which no page of the service knows.
  'must be signed, hmac or path; remove delivery.verification if it says header or body: the default, signed, finds the proof itself',
);

/** The shape of the contract profile: every fact about the service that may need correction, as data. */
export const ContractProfileSchema = z.strictObject({
  operations: z.record(z.enum(operationNames), Operation),
  pointers: z.strictObject({
    orderStatus: z.strictObject({ status: Pointers, orderId: Pointers }),
    orderDetails: z.strictObject({ status: Pointers, orderId: Pointers }),
    createOrder: z.strictObject({ orderId: Pointers }),
    priceEstimate: z.strictObject({ quoteId: Pointers, price: Pointers, currency: Pointers }),
    delivery: z.strictObject({
      ...{ orderId: Pointers, status: Pointers, eventType: Pointers, businessId: Pointers },
      /** An empty list: the same body is the same delivery, and no other one. */
      eventId: z.array(Pointer),
      eventTime: z.array(Pointer),
    }),
  }),
  delivery: z.strictObject({ verification: Verification }),
  subscription: z.strictObject({
    /** Further fields of the request that subscribes, such as `{"retries": 5}`. Our own fields win. */
    body: z.record(z.string(), z.unknown()),
  }),
  tokens: z.strictObject({
    businessEncoding: z.enum(tokenEncodings),
    /** How long before its end a token is renewed. */
    refreshEarlyMs: z.int().min(1_000).max(3_600_000),
    /** For an answer that names no lifetime. */
    fallbackLifetimeMs: z.int().min(1_000).max(86_400_000),
  }),
  statuses: z.strictObject({
    terminal: z.array(z.string().min(1)).min(1),
    /** Words of the service, in any case and with any of the separators ` _-`, and the statuses of ours that they mean. */
    words: z.record(z.string().min(1).max(100), z.enum(rideStatuses)),
    notOrderStatus: z.array(z.string()),
  }),
  /** For each account, at either interface, without limits of its own. */
  limits: z.strictObject({ requestsPerSecond: z.number().positive().max(1000) }),
});

/** A parsed profile. */
export type ContractProfile = z.infer<typeof ContractProfileSchema>;
/** One operation of the service: how to call it, and whether the service's document states that. */
export type Operation = z.infer<typeof Operation>;
/** The names of all operations, whatever their source. */
export type OperationName = keyof ContractProfile['operations'];

/** The path to try first where the service does not know an order at the one in force: public clients read it (assumed). */
export const pathToTry: Readonly<Partial<Record<OperationName, string>>> = {
  orderStatus: '/v1/private/orders/{order_id}',
};

/** How a token request carries its fields. */
export type TokenEncoding = ContractProfile['tokens']['businessEncoding'];

/** What differs between the interfaces of the service. */
interface InterfaceTerms {
  /** The operation that reads one order of this interface. */
  readOperation: keyof ContractProfile['pointers'] & OperationName;
  /** Path of the token endpoint. */
  tokenPath: string;
  tokenEncoding(profile: ContractProfile): TokenEncoding;
}

/** The terms of each interface that no profile can change. */
export const interfaceTerms = {
  partner: {
    readOperation: 'orderStatus',
    tokenPath: '/v1/oauth/token',
    tokenEncoding: () => 'urlencoded',
  },
  business: {
    readOperation: 'orderDetails',
    tokenPath: '/oauth/token',
    tokenEncoding: ({ tokens }) => tokens.businessEncoding,
  },
} as const satisfies Record<RideInterface, InterfaceTerms>;
