const minute = 60_000;

/** A ride of four hours and eight statuses, each with its first millisecond. */
export const fourHourRide: readonly (readonly [status: string, fromMs: number])[] = [
  ['Pending', 0],
  ['Routing', 5 * minute],
  ['Confirmed', 30 * minute],
  ['Waiting', 60 * minute],
  ['Driving', 75 * minute],
  ['CareReq', 150 * minute],
  ['Driving', 165 * minute],
  ['Completed', 240 * minute],
];
