/** The two interfaces of the service (given, upstream section 2). */
export const rideInterfaces = ['partner', 'business'] as const;

export type RideInterface = (typeof rideInterfaces)[number];
