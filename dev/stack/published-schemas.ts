import { BusinessCallInputSchema, BusinessCallResultSchema } from '../../src/domain/call.js';
import { DeliveryNoticeSchema, DeliveryNoticesSchema } from '../../src/domain/delivery.js';
import { FollowOrderInputSchema, FollowRequestSchema, ReasonInputSchema } from '../../src/domain/order/input.js';
import { OrderChangeSchema, OrderEventSchema, OrderTrailSchema } from '../../src/domain/order/trail.js';
import { ParkedDeliverySchema, RoutedDeliverySchema, RouteInputSchema } from '../../src/domain/parked.js';
import {
  CompanyReportEventSchema,
  CompanyReportInputSchema,
  CompanyReportNoticeSchema,
  CompanyReportSchema,
} from '../../src/domain/report.js';
import { RequestRideInputSchema, RideResolutionSchema, UpdateRideSchema } from '../../src/domain/ride/input.js';
import { RideEventSchema, RideResultSchema, RideStandingSchema } from '../../src/domain/ride/ride.js';
import { SubscriptionEndSchema, SubscriptionStatusSchema } from '../../src/domain/subscription/status.js';
import {
  EndInputSchema,
  MoveInputSchema,
  RotateInputSchema,
  SubscriptionInputSchema,
} from '../../src/domain/subscription/subscription.js';
import { WatchStatusSchema } from '../../src/domain/watch.js';

/** Inputs, results and messages of workflows, by their published names in docs/schema. */
export const publishedSchemas = {
  'follow-order-input': FollowOrderInputSchema,
  'order-trail': OrderTrailSchema,
  'order-change': OrderChangeSchema,
  'order-event': OrderEventSchema,
  'delivery-notice': DeliveryNoticeSchema,
  'delivery-notices': DeliveryNoticesSchema,
  'follow-request': FollowRequestSchema,
  'stop-following-input': ReasonInputSchema,
  'company-report-input': CompanyReportInputSchema,
  'company-report': CompanyReportSchema,
  'company-report-notice': CompanyReportNoticeSchema,
  'company-report-event': CompanyReportEventSchema,
  'parked-delivery': ParkedDeliverySchema,
  'route-delivery-input': RouteInputSchema,
  'routed-delivery': RoutedDeliverySchema,
  'discard-delivery-input': ReasonInputSchema,
  'business-call-input': BusinessCallInputSchema,
  'business-call-result': BusinessCallResultSchema,
  'request-ride-input': RequestRideInputSchema,
  'ride-standing': RideStandingSchema,
  'ride-result': RideResultSchema,
  'ride-event': RideEventSchema,
  'ride-update': UpdateRideSchema,
  'ride-resolution': RideResolutionSchema,
  'subscription-input': SubscriptionInputSchema,
  'subscription-status': SubscriptionStatusSchema,
  'subscription-end': SubscriptionEndSchema,
  'rotate-subscription-input': RotateInputSchema,
  'move-subscription-input': MoveInputSchema,
  'end-subscription-input': EndInputSchema,
  'watch-status': WatchStatusSchema,
} as const;

/** One of them as a JSON Schema of draft 2020-12. A later release may add fields to answers. */
export const toPublishedSchema = (name: keyof typeof publishedSchemas): object => ({
  title: name,
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...publishedSchemas[name].json,
});
