/** The one rule for addresses that we call or publish, for error messages. */
export const webAddressRule =
  'must be an https URL (http only at a loopback address) without credentials, query and fragment';

/** Reads an address that we call or publish, without a trailing slash; undefined when it breaks `webAddressRule`. */
export function toWebAddress(text: string): string | undefined {
  const url = /[?#\s]/.test(text) ? undefined : readUrl(text);
  return url && isCallable(url) ? `${url.origin}${url.pathname}`.replace(/\/+$/, '') : undefined;
}

/** The rule for the origins of receivers, for error messages. */
export const originRule =
  'must be an https origin (http only at a loopback address) such as https://orders.example.com';

/** Reads an origin as `URL` writes it; undefined when it breaks `originRule`. */
export function toOrigin(text: string): string | undefined {
  const address = toWebAddress(text);
  return address !== undefined && address === new URL(address).origin ? address : undefined;
}

/** In characters. */
export const maxReceiverUrl = 2_000;

/** The rule for addresses that callers want to be told at, for error messages. */
export const receiverUrlRule = `must be an https URL (http only at a loopback address) of at most ${maxReceiverUrl} characters without credentials and fragment`;

/** Reads an address that a caller wants to be told at; undefined when it breaks `receiverUrlRule`. */
export function toReceiverUrl(text: string): string | undefined {
  const url = text.length > maxReceiverUrl || /[#\s]/.test(text) ? undefined : readUrl(text);
  return url && isCallable(url) ? url.href : undefined;
}

/** No credentials, and https, or http at a loopback address. */
const isCallable = ({ username, password, protocol, hostname }: URL): boolean =>
  username === '' && password === '' && (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)));

const readUrl = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);

/** Is this an address of this machine? For addresses that `toWebAddress` has read. */
export const isLoopbackAddress = (address: string): boolean => isLoopback(new URL(address).hostname);

// `URL` has brought every spelling of an IPv4 address to four decimal parts, and put IPv6 in brackets.
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
