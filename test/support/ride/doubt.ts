/** The next answers of the table: an HTTP status with words of an error, or none. */
export const answers = [200, 303, 400, 402, 403, 404, 409, 410, 422, 429, 500, 502, 503, 504, 'none'] as const;

/** Places in which an answer may name an order. */
export const placesOfId = ['body', 'Location', 'neither'] as const;

/** Body and headers of an answer that names the order there. */
export function names(place: (typeof placesOfId)[number], orderId: string) {
  const error = { code: 'duplicate_request', message: 'Seen before.' };
  return {
    body: { status: 'error', error, ...(place === 'body' ? { order_id: orderId } : {}) },
    headers: (place === 'Location' ? { location: `/v1/orders/${orderId}` } : {}) as Record<string, string>,
  };
}
