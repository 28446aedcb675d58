/** The two interfaces of the service (given, upstream section 2). */
export const rideInterfaces = ['partner', 'business'] as const;

/** `partner` or `business`. */
export type RideInterface = (typeof rideInterfaces)[number];
