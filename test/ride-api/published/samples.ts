import { published } from '../../fixtures/published.js';
import { businessAccount, partnerAccount } from '../accounts.js';
import {
  business,
  type Call,
  type CallerCall,
  estimate,
  orderId,
  readOrder,
  receipt,
  subscriber,
  tokenOf,
} from './calls.js';
import { type FieldTable, keptAs } from './fields.js';

/** A published answer of 2.2 to 2.4, the call that gets it, and what becomes of its fields. */
export interface Answer extends FieldTable {
  sample: string;
  /** What the sample lacks and the pages name. */
  more?: object;
  call: Call | CallerCall;
  status?: number;
}

const personal = 'personal';
const all = (names: string, why: string): Record<string, string> =>
  Object.fromEntries(names.split(' ').map((name) => [name, why]));

const summary = 'amount amount_exc_tax amount_inc_tax tax'.split(' ').map((name) => `calculation/*/summary/${name}`);
const receiptFields = [
  ...'currency_code total_exc_tax total_inc_tax total_tax'.split(' ').map((name) => `payment_summary/${name}`),
  ...summary,
  'calculation/*/details/cancelled_before_arrival_fee',
];
const driver = 'name phone image_url rating vehicle/model'.split(' ').map((name) => `supplier/driver/${name}`);
const partnerDriver = 'driver_name driver_phone plate_number'
  .split(' ')
  .map((name) => `order/actual/supplier/driver/${name}`);
const times = 'requested_at scheduled_at will_arrive_at_pickup pickedup_at droppedoff_at';
const later = { pickedup_at: '2026-03-02T08:30:00Z', droppedoff_at: '2026-03-02T09:00:00Z' };

const tokens: Answer[] = [
  {
    sample: 'token-partner',
    call: tokenOf('partner', 'demand_partner'),
    found: {
      access_token: 'accessToken',
      token_type: 'bearer, or a warning',
      expires_in: 'lifetimeMs',
      scope: 'holds the requested one, or a warning',
    },
  },
  {
    sample: 'token-business-scoped',
    call: tokenOf('business', 'order finance'),
    found: {
      access_token: 'accessToken',
      token_type: 'bearer, or a warning',
      expires_in: 'lifetimeMs',
      scope: 'holds the requested ones, or a warning',
    },
  },
  {
    sample: 'token-business-unscoped',
    call: tokenOf('business', ''),
    found: { access_token: 'accessToken', token_type: 'bearer, or a warning', expires_in: 'lifetimeMs' },
    notUsed: { scope: 'none was requested, so any will do' },
  },
];

const orders: Answer[] = [
  {
    sample: 'business-order-details.partly-assumed',
    more: later,
    call: readOrder(businessAccount),
    found: {
      id: 'must be the order asked for',
      status: 'status, rawStatus and terminal',
      ...all(times, 'details'),
      'supplier/code': 'details.supplier.code',
    },
    encryptedOnly: { 'supplier/name': 'may be a person', ...all(driver.join(' '), personal) },
    notUsed: {
      ...all('stops/type stops/progress_status', 'a run follows the order; a call of orderDetails gives them'),
      ...all('stops/actions/type stops/actions/status', 'the same'),
      ...all('stops/actions/user/name stops/actions/user/phone', personal),
      ...all('stops/location/lat stops/location/lng', personal),
    },
  },
  {
    sample: 'business-order-details.partly-assumed',
    more: later,
    call: business('orderDetails', { orderId }),
    found: {
      ...keptAs('body', `id status supplier/code ${times}`),
      ...keptAs('body', 'stops/type stops/progress_status stops/actions/type'),
    },
    encryptedOnly: {
      'supplier/name': 'may be a person',
      'stops/actions/status': 'its words are unknown, and only known ones are kept in clear',
      ...all(driver.join(' '), personal),
      ...all('stops/actions/user/name stops/actions/user/phone', personal),
      ...all('stops/location/lat stops/location/lng', personal),
    },
  },
  {
    sample: 'partner-order.client-code',
    call: readOrder(partnerAccount),
    found: {
      'order/order_id': 'must be the order asked for',
      'order/status': 'status, rawStatus and terminal',
      'order/scheduled_at': 'details.scheduledAt',
    },
    encryptedOnly: all(partnerDriver.join(' '), personal),
    notUsed: {
      'order/created_at': 'only clients show it, and no page says that it is the time of the request',
      ...all('order/product/name order/product/category', 'the caller of the partner interface knows what it ordered'),
    },
  },
];

const calls: Answer[] = [
  {
    sample: 'business-create-order-response.assumed',
    call: business('createOrder', { body: published('business-create-order-request') }),
    status: 201,
    found: { id: 'orderId and body', status: 'body' },
  },
  {
    sample: 'business-price-estimate-response',
    call: estimate,
    found: { quote_id: 'quoteId', currency_code: 'currency', 'price/value': 'price' },
    notUsed: {
      currency: 'a sign that several currencies share; currency_code says which',
      'price/included_tax': 'the status of a ride has one price; a call of priceEstimate gives it',
    },
  },
  {
    sample: 'business-price-estimate-response',
    call: business('priceEstimate', { body: published('business-price-estimate-request') }),
    found: keptAs('body', 'quote_id currency currency_code price/value price/included_tax'),
  },
  {
    sample: 'business-products-response.partly-assumed',
    call: business('products', { body: published('business-products-request') }),
    found: {
      ...keptAs('body', 'products/transportation/product_id products/transportation/name'),
      ...keptAs('body', 'products/transportation/description products/transportation/price_concept'),
      ...keptAs('body', 'products/transportation/riders products/transportation/edit_future_order_enabled'),
      ...keptAs('body', 'products/transportation/edit_before_scheduled_at_min products/delivery'),
    },
  },
  {
    sample: 'business-company-settings',
    call: business('companySettings'),
    found: {
      ...keptAs('body', 'mandatory_destination allow_multi_riders payment_types'),
      ...keptAs('body', 'references/id references/title references/mandatory'),
    },
  },
  {
    sample: 'business-reference-codes-response',
    call: business('addReferenceCode', {
      referenceFieldId: '16fa8c2d-4ba2-4f53-8a30-ecd4a1b2c3d4',
      body: published('business-reference-codes-request'),
    }),
    status: 201,
    found: {
      ...keptAs('body', 'has_errors data/id data/value errors/index errors/code'),
      ...keptAs('body', 'errors/field_errors/field errors/field_errors/code'),
    },
    encryptedOnly: all('errors/title errors/field_errors/title', 'a sentence may repeat input; its code is kept'),
  },
  {
    sample: 'business-receipt.calculation-inferred',
    call: business('orderReceipt', { orderId }),
    found: keptAs('body', receiptFields.join(' ')),
  },
  {
    sample: 'business-receipt.calculation-inferred',
    call: receipt,
    found: all(receiptFields.join(' '), 'kept under its own name'),
  },
  {
    sample: 'business-report-page',
    call: business('orderReport', { body: { since: '2026-03-01T00:00:00+03:00', to: '2026-04-01T00:00:00Z' } }),
    found: {
      ...keptAs('body', 'result_size total_orders_in_period totals/sum_total_exc_tax totals/sum_total_inc_tax'),
      ...keptAs('body', 'totals/orders_count totals/currency_code orders/id orders/status orders/business_id'),
      ...keptAs('body', 'orders/country orders/category orders/product_name orders/timezone'),
      ...keptAs('body', receiptFields.map((name) => `orders/${name}`).join(' ')),
    },
    encryptedOnly: { 'orders/tariff_area': 'says where somebody went' },
  },
  {
    sample: 'subscriber-created',
    call: subscriber,
    status: 201,
    found: {
      id: 'id',
      secret_id: 'secretId',
      hook_address: 'deliveryAddress',
      created_at: 'createdAt',
      updated_at: 'updatedAt',
    },
    notUsed: {
      'event_types/event_type': 'the request named one event type',
      'business_ids/business_id': 'the request named one company',
    },
  },
];

const errors: Answer[] = [
  {
    sample: 'error-envelope-400',
    call: readOrder(partnerAccount),
    status: 400,
    found: {
      'error/code': 'upstreamCode, and the text of the failure',
      'error/details/stops': 'its name in upstreamFields, and the text of the failure',
      request_id: 'the text of the failure',
    },
    notUsed: {
      status: 'HTTP says it',
      'error/message': 'a sentence may repeat input; only the caller of a business call gets it',
    },
  },
  {
    sample: 'error-envelope-400',
    call: business('orderDetails', { orderId }),
    found: {
      status: 'tells an error under HTTP 200 from an order',
      'error/code': 'upstreamCode',
      'error/details/stops': 'its name in upstreamFields',
      request_id: 'the text of the failure',
    },
    encryptedOnly: { 'error/message': 'upstreamMessage: it may repeat input' },
  },
  {
    sample: 'error-envelope-401-token',
    call: readOrder(partnerAccount),
    status: 401,
    found: { 'error/code': 'upstreamCode; any 401 of a call renews the token' },
    notUsed: { status: 'HTTP says it', 'error/message': 'a sentence may repeat input' },
  },
  {
    sample: 'error-envelope-401-login',
    call: tokenOf('partner', 'demand_partner'),
    status: 401,
    found: { 'error/code': 'credentialsRejected, and upstreamCode' },
    notUsed: { status: 'HTTP says it', 'error/message': 'a sentence may repeat input' },
  },
];

export const answers: readonly Answer[] = [...tokens, ...orders, ...calls, ...errors];

/** Samples of calls that faretrail does not make. */
export const notAsked: Readonly<Record<string, string>> = all(
  [
    ...['partner-aggregated-request', 'partner-aggregated-response'],
    ...['partner-create-order-request', 'partner-create-order-response.client-code'],
  ].join(' '),
  'faretrail orders at the business interface alone; at the partner interface it follows orders',
);
