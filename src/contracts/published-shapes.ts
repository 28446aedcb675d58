import { z } from 'zod';
import { BusinessCallInputShape, BusinessCallResultShape } from './call-shapes.js';
import {
  DeliveryNoticeShape,
  FollowOrderInputShape,
  FollowRequestShape,
  OrderChangeShape,
  OrderEventShape,
  OrderTrailShape,
} from './order-shapes.js';
import { ParkedDeliveryShape } from './parked-shapes.js';
import {
  CompanyReportEventShape,
  CompanyReportInputShape,
  CompanyReportNoticeShape,
  CompanyReportShape,
} from './report-shapes.js';
import {
  RequestRideInputShape,
  RideResolutionShape,
  RideResultShape,
  RideStandingShape,
  UpdateRideShape,
} from './ride-shapes.js';
import { SubscriptionInputShape } from './subscription-shapes.js';

/** What other programs send and get, by the names under which it is published in docs/schema. */
export const publishedShapes = {
  'follow-order-input': FollowOrderInputShape,
  'order-trail': OrderTrailShape,
  'order-change': OrderChangeShape,
  'order-event': OrderEventShape,
  'delivery-notice': DeliveryNoticeShape,
  'follow-request': FollowRequestShape,
  'company-report-input': CompanyReportInputShape,
  'company-report': CompanyReportShape,
  'company-report-notice': CompanyReportNoticeShape,
  'company-report-event': CompanyReportEventShape,
  'parked-delivery': ParkedDeliveryShape,
  'business-call-input': BusinessCallInputShape,
  'business-call-result': BusinessCallResultShape,
  'request-ride-input': RequestRideInputShape,
  'ride-standing': RideStandingShape,
  'ride-result': RideResultShape,
  'ride-update': UpdateRideShape,
  'ride-resolution': RideResolutionShape,
  'subscription-input': SubscriptionInputShape,
} as const;

/** One of them as a JSON Schema of draft 2020-12. What we answer may have more fields in a later release. */
export const toPublishedSchema = (name: keyof typeof publishedShapes): object => ({
  title: name,
  ...z.toJSONSchema(publishedShapes[name], { io: 'input' }),
});
