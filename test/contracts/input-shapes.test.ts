import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { BusinessCallInputShape } from '../../src/contracts/call-shapes.js';
import { FollowOrderInputShape, FollowRequestShape } from '../../src/contracts/order-shapes.js';
import { RouteDeliveryShape } from '../../src/contracts/parked-shapes.js';
import { CompanyReportInputShape } from '../../src/contracts/report-shapes.js';
import { RequestRideInputShape, RideResolutionShape } from '../../src/contracts/ride-shapes.js';
import { SubscriptionInputShape } from '../../src/contracts/subscription-shapes.js';
import { parseBusinessCallInput } from '../../src/domain/call.js';
import { parseFollowOrderInput, parseFollowRequest } from '../../src/domain/order/input.js';
import { parseRouteInput } from '../../src/domain/parked.js';
import { parseCompanyReportInput } from '../../src/domain/report.js';
import { parseRequestRideInput, parseResolveRideInput } from '../../src/domain/ride/input.js';
import { parseSubscriptionInput } from '../../src/domain/subscription/input.js';

// What is published and what the workflows do are written down in two places: here they are held against each other.
const order = { account: 'partner', orderId: '42' };
const call = { account: 'business', operation: 'orderDetails', key: 'k', orderId: '42' };
const ride = { account: 'business', requestId: 'r1', order: { category: 'transportation' } };
const report = { account: 'business', orderId: '42' };
const subscription = { account: 'business', eventType: 'status_changed', publicUrl: 'https://rides.example' };

const accepted: [string, z.ZodType, (value: unknown) => unknown, unknown[]][] = [
  [
    'followOrder',
    FollowOrderInputShape,
    parseFollowOrderInput,
    [
      order,
      { ...order, orderId: 42 },
      { ...order, reference: 'trip-9', scheduledAt: '2026-05-01T08:30:00+02:00', followForMs: 1_000 },
      { ...order, reference: null, scheduledAt: null, notify: null, followForMs: null },
      { ...order, notify: [{ workflowId: 'w', signal: 's' }, { url: 'https://shop.example/changes' }] },
    ],
  ],
  [
    'followRequested',
    FollowRequestShape,
    parseFollowRequest,
    [
      {},
      { reference: 'trip-9', scheduledAt: '2026-05-01T08:30:00+02:00', followForMs: 1_000 },
      { reference: null, scheduledAt: null, notify: null, followForMs: null },
      { notify: Array(10).fill({ url: 'https://shop.example/changes' }) },
    ],
  ],
  [
    'businessCall',
    BusinessCallInputShape,
    parseBusinessCallInput,
    [
      call,
      { account: 'business', operation: 'companySettings', key: 'a.b_c~d-1', orderId: null, body: null },
      { account: 'business', operation: 'addReferenceCode', key: 'k', referenceFieldId: 7, body: [{ value: 'A1' }] },
    ],
  ],
  [
    'requestRide',
    RequestRideInputShape,
    parseRequestRideInput,
    [ride, { ...ride, receipt: true, notify: [{ workflowId: 'w', signal: 's' }] }, { ...ride, receipt: null }],
  ],
  ['resolveRide', RideResolutionShape, parseResolveRideInput, [{ orderId: '42' }, { tryAgain: true }]],
  ['resolveRide', RideResolutionShape, parseResolveRideInput, [{ giveUp: true, reason: 'no order was made' }]],
  [
    'subscription',
    SubscriptionInputShape,
    parseSubscriptionInput,
    [subscription, { ...subscription, graceMs: 0, silence: { minOrders: 1 }, resubscribe: true }],
  ],
  [
    'companyReport',
    CompanyReportInputShape,
    parseCompanyReportInput,
    [report, { account: 'business' }, { ...report, orderId: null, notify: [{ url: 'https://shop.example/changes' }] }],
  ],
  ['routeDelivery', RouteDeliveryShape, parseRouteInput, [{ orderId: '42' }, { orderId: 42 }]],
];

const refused: typeof accepted = [
  [
    'followOrder',
    FollowOrderInputShape,
    parseFollowOrderInput,
    [
      null,
      {},
      { ...order, account: 'Not A Name' },
      { ...order, orderId: '' },
      { ...order, orderId: 'a/b' },
      { ...order, orderId: 1.5 },
      { ...order, poll: 5 },
      { ...order, reference: '' },
      { ...order, scheduledAt: 'tomorrow' },
      { ...order, scheduledAt: '2026-05-01T08:30:00' },
      { ...order, followForMs: 999 },
      { ...order, notify: [{ workflowId: 'w' }] },
      { ...order, notify: [{ workflowId: 'w', signal: 's', url: 'https://shop.example' }] },
    ],
  ],
  [
    'followRequested',
    FollowRequestShape,
    parseFollowRequest,
    [
      null,
      order,
      { receivers: [] },
      { reference: '' },
      { scheduledAt: 'tomorrow' },
      { followForMs: 999 },
      { notify: [{ workflowId: 'w' }] },
      { notify: Array(11).fill({ url: 'https://shop.example/changes' }) },
    ],
  ],
  [
    'businessCall',
    BusinessCallInputShape,
    parseBusinessCallInput,
    [
      { ...call, operation: 'orderStatus' },
      { ...call, key: 'a b' },
      { ...call, also: 1 },
      { ...call, key: undefined },
    ],
  ],
  [
    'requestRide',
    RequestRideInputShape,
    parseRequestRideInput,
    [
      { ...ride, requestId: 'a/b' },
      { ...ride, order: [] },
      { ...ride, receipt: 'yes' },
      { ...ride, also: 1 },
    ],
  ],
  [
    'resolveRide',
    RideResolutionShape,
    parseResolveRideInput,
    [{}, { tryAgain: false }, { orderId: '4', tryAgain: true }],
  ],
  [
    'subscription',
    SubscriptionInputShape,
    parseSubscriptionInput,
    [
      { ...subscription, eventType: 'all' },
      { ...subscription, publicUrl: 'rides' },
      { ...subscription, graceMs: -1 },
    ],
  ],
  [
    'companyReport',
    CompanyReportInputShape,
    parseCompanyReportInput,
    [{}, { ...report, orderId: 'a/b' }, { ...report, poll: 5 }, { ...report, notify: {} }],
  ],
  ['routeDelivery', RouteDeliveryShape, parseRouteInput, [{}, { orderId: '' }, { orderId: '42', reason: 'x' }]],
];

const oneByOne = (table: typeof accepted) =>
  table.flatMap(([name, shape, parse, values]) => values.map((value) => ({ name, value, shape, parse })));

describe('the published shape and the workflow agree', () => {
  it.each(oneByOne(accepted))('to take $name $value', ({ shape, parse, value }) => {
    expect(shape.safeParse(value)).toMatchObject({ success: true });
    expect(() => parse(value)).not.toThrow();
  });

  it.each(oneByOne(refused))('to refuse $name $value', ({ shape, parse, value }) => {
    expect(shape.safeParse(value)).toMatchObject({ success: false });
    expect(() => parse(value)).toThrow(expect.objectContaining({ code: 'InvalidInput' }));
  });
});
