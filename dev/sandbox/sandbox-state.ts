import { createDeliveries, type Deliveries } from './delivery/deliveries.js';
import { createDeliverySender } from './delivery/sender.js';
import { type DeliveryChange, DeliveryChangeSchema } from './delivery/settings.js';
import { createFaultBoard, type FaultBoard, seededRandom } from './faults.js';
import { createLedger, type Ledger } from './ledger.js';
import { createOrderBook, type OrderBook } from './order/orders.js';
import type { OtherAnswers } from './other-answers.js';
import { sandboxProducts } from './ride/catalogue.js';
import { createQuotes, type Quotes } from './ride/quotes.js';
import { receiptTimes } from './ride/receipt-bodies.js';
import { createReferenceCodes, type ReferenceCodes } from './ride/reference-codes.js';
import { createRides, type Rides } from './ride/rides.js';
import { changed, defaultRideSettings, type RideChange, RideChangeSchema, type RideSettings } from './ride/settings.js';
import { createSubscriberBook, type SubscriberBook } from './subscription/subscribers.js';
import { type AcceptedClients, defaultLifetimeSeconds, sandboxCredentials } from './token/credentials.js';
import { type AccessTokens, createAccessTokens } from './token/tokens.js';

/** The options of a sandbox, all with defaults. */
export interface SandboxOptions {
  /** Default 127.0.0.1. Every program that reaches the sandbox can use its commands. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  /** How much faster than real time the scripts of orders run; default 1. */
  speed?: number;
  /** The seed of faults with a `probability`, of the header with the proof and of the random settings of deliveries; default 1. */
  seed?: number;
  partner?: {
    clientId?: string;
    clientSecret?: string;
    /** Default 3600. */
    tokenLifetimeSeconds?: number;
  };
  business?: {
    clientId?: string;
    clientSecret?: string;
    businessId?: string;
    /** Default 899. */
    tokenLifetimeSeconds?: number;
  };
  /** Settings of deliveries that differ from the defaults. */
  deliveries?: DeliveryChange;
  /** Settings of orders that differ from the defaults. */
  rides?: RideChange;
  /** Operations that answer otherwise than the built-in contract profile assumes. */
  otherAnswers?: OtherAnswers;
}

/** The state of a sandbox. Endpoints read it, commands change it. */
export interface SandboxState {
  clients: AcceptedClients;
  businessId: string;
  tokens: AccessTokens;
  orders: OrderBook;
  faults: FaultBoard;
  ledger: Ledger;
  subscribers: SubscriberBook;
  deliveries: Deliveries;
  rideSettings: RideSettings;
  rides: Rides;
  quotes: Quotes;
  referenceCodes: ReferenceCodes;
  otherAnswers: OtherAnswers;
  speed: number;
  isDown: boolean;
}

/** `sender` takes deliveries to their receivers; default: over HTTP. Throws `ZodError` for bad settings. */
export function createSandboxState(options: SandboxOptions, sender = createDeliverySender()): SandboxState {
  const { speed = 1, seed = 1, partner = {}, business = {} } = options;
  const businessId = business.businessId ?? sandboxCredentials.business.businessId;
  const orders = createOrderBook(speed, (order, isNew) => deliveries.stepsChanged(order, isNew));
  const subscribers = createSubscriberBook(() => deliveries.subscribersChanged());
  const random = seededRandom(seed + 1); // its own source, so that deliveries do not change the draws of faults
  const change = DeliveryChangeSchema.parse(options.deliveries ?? {});
  const rides = createRides(orders, speed);
  const deliveries = createDeliveries({
    orders,
    subscribers,
    sender,
    speed,
    random,
    change,
    productOf: (orderId) => rides.find(orderId ?? '')?.order.product_id ?? sandboxProducts.standard.id,
    receiptTimes: (status) => receiptTimes(status, state.rideSettings),
  });
  const state: SandboxState = {
    clients: {
      partner: {
        clientId: partner.clientId ?? sandboxCredentials.partner.clientId,
        clientSecret: partner.clientSecret ?? sandboxCredentials.partner.clientSecret,
        tokenLifetimeSeconds: partner.tokenLifetimeSeconds ?? defaultLifetimeSeconds.partner,
      },
      business: {
        clientId: business.clientId ?? sandboxCredentials.business.clientId,
        clientSecret: business.clientSecret ?? sandboxCredentials.business.clientSecret,
        tokenLifetimeSeconds: business.tokenLifetimeSeconds ?? defaultLifetimeSeconds.business,
      },
    },
    businessId,
    tokens: createAccessTokens(),
    orders,
    faults: createFaultBoard(seededRandom(seed)),
    ledger: createLedger(),
    subscribers,
    deliveries,
    rideSettings: changed(defaultRideSettings, RideChangeSchema.parse(options.rides ?? {})),
    rides,
    quotes: createQuotes(),
    referenceCodes: createReferenceCodes(),
    otherAnswers: options.otherAnswers ?? {},
    speed,
    isDown: false,
  };
  return state;
}
