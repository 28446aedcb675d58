/**
 * What one address and one account may use, so that nobody takes from the others. `docs/reference/shares.md` gives the reasons, and a test
 * compares it with this table.
 */
export const shares = {
  body: {
    /** Setting `FARETRAIL_DELIVERY_MAX_KB`. */
    kilobytes: 32,
    /** Members and elements of a delivery. Each takes about 100 ns to read, and up to 16 bytes of the body make one. */
    items: 4_000,
    /** Numbers that JavaScript would change, whose digits are kept: each takes some 2 us. */
    longNumbers: 200,
  },
  /** Of one account at one ingress process. */
  account: {
    /** Runs that deliveries started and that have not read their order yet. */
    newOrders: 20,
    /** Deliveries in the journal that wait for that, or that Temporal has not been asked about. About 5 MB. */
    waiting: 10_000,
    /** Deliveries a second that are taken beyond `waiting`, so that the first genuine one after a flood is. */
    waitingPerSecond: 10,
  },
  /** Of one account in Temporal. */
  parked: {
    /** Deliveries that wait for a person. Where deliveries can prove themselves, others take half of it. */
    deliveries: 2_000,
    /** What is kept of a body, in bytes. Sealed it takes about twice as much. */
    bodyBytes: 16_384,
  },
  /** Of one account, over all its workers: reads of orders that only deliveries without a proof name, before the first one succeeds. */
  unprovenReads: {
    /** The part of `requestsPerSecond`. */
    ofBudget: 0.1,
    /** Turns not taken in so long are made up for. */
    burstMs: 5_000,
  },
  /** Of one webhook address at one ingress process. */
  address: {
    /** Setting `FARETRAIL_DELIVERIES_PER_SECOND`. */
    perSecond: 100,
    /** What an address may send at once, after it was quiet for so long. A sender that had an outage repeats what it could not send. */
    burstSeconds: 60,
    /** A body counts as one delivery for each so many bytes of it, or part of them. */
    bytesPerDelivery: 4_096,
    /** What a body counts as that unpacks to far more than it may, in deliveries. */
    bomb: 100,
  },
} as const;
