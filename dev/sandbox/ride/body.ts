import { z } from 'zod';
import type { ProductCategory } from './catalogue.js';

const Text = z.string().min(1);

/** A number, or a number as text, since `delivery` may take text. */
const coordinate = (most: number) =>
  z
    .union([z.number(), z.string().regex(/^-?\d{1,3}(\.\d+)?$/)], 'must be a number')
    .refine((value) => Math.abs(Number(value)) <= most, `must be between -${most} and ${most}`);

const Stop = z.looseObject({
  type: z.enum(['origin', 'on_going', 'destination']),
  actions: z
    .array(
      z.looseObject({
        type: z.enum(['pick_up', 'stop_by', 'drop_off']),
        user: z.looseObject({ name: Text, phone: z.string().regex(/^\d{6,15}$/, 'must be international, without +') }),
        parcel: z.looseObject({ name: Text }).optional(),
      }),
    )
    .min(1),
  location: z.looseObject({
    lat: coordinate(90),
    lng: coordinate(180),
    full_address: z.string().optional(),
    address: z.looseObject({}).optional(),
  }),
});

const Fields = z.looseObject({
  category: z.enum(['transportation', 'delivery'] satisfies ProductCategory[]),
  product_id: z.guid(),
  scheduled_at: z.iso.datetime({ offset: true }).optional(),
  quote_id: z.guid().optional(),
  stops: z.array(Stop).min(1),
  note_to_driver: z.string().max(100).optional(),
  references: z.array(z.looseObject({ id: z.int(), title: Text, value: Text })).optional(),
});

/** The body of a create (assumed). The sandbox accepts unknown fields. */
export const NewOrderSchema = Fields.superRefine(({ category, stops }, context) => {
  const problems = [
    ...orderOfStops(stops),
    ...(category === 'delivery' ? deliveryProblems(stops) : rideProblems(stops)),
  ];
  for (const [path, message] of problems) context.addIssue({ code: 'custom', path, message });
});
export type NewOrder = z.output<typeof NewOrderSchema>;

/** The body of an update: any field of a create, and at least one. */
export const OrderChangeSchema = Fields.partial().refine((change) => Object.keys(change).length > 0, 'names no field');
type Problem = [path: (string | number)[], message: string];
type Stops = NewOrder['stops'];

/** One origin first, at most one destination last, and stops under way between them. */
const orderOfStops = (stops: Stops): Problem[] =>
  stops.flatMap(({ type }, i): Problem[] => {
    const isRight = i === 0 ? type === 'origin' : type === 'on_going' || (type === 'destination' && isLast(stops, i));
    return isRight ? [] : [[['stops', i, 'type'], 'the origin is first, the destination last']];
  });

const isLast = (stops: Stops, i: number): boolean => i === stops.length - 1;

const rideProblems = (stops: Stops): Problem[] =>
  stops.flatMap(({ location }, i) =>
    (['lat', 'lng'] as const).flatMap((name): Problem[] =>
      typeof location[name] === 'number' ? [] : [[['stops', i, 'location', name], 'must be a number']],
    ),
  );

const mostDropOffs = 6;

function deliveryProblems(stops: Stops): Problem[] {
  const actions = stops.flatMap((stop, i) =>
    stop.actions.map((action, j) => ({ ...action, path: ['stops', i, 'actions', j] })),
  );
  const count = (type: string) => actions.filter((action) => action.type === type).length;
  const isInRange = count('pick_up') === 1 && count('drop_off') >= 1 && count('drop_off') <= mostDropOffs;
  return [
    ...(isInRange ? [] : [[['stops'], `one pick_up and 1 to ${mostDropOffs} drop_off`] satisfies Problem]),
    ...actions.flatMap(({ type, parcel, path }): Problem[] => [
      ...(parcel ? [] : [[[...path, 'parcel'], 'is required for a delivery'] satisfies Problem]),
      ...(type === 'stop_by' ? [[[...path, 'type'], 'not for a delivery'] satisfies Problem] : []),
    ]),
  ];
}
