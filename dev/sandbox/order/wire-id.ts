/** An order id as the service writes it: a number, or text where it is no number. */
export function numberOrText(orderId: string): number | string {
  const number = Number(orderId);
  return Number.isSafeInteger(number) && String(number) === orderId ? number : orderId;
}
