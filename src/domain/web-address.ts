/** The one rule for addresses that we call or publish, for error messages. */
export const webAddressRule =
  'must be an https URL (http only at a loopback address) without credentials, query and fragment';

/** Reads an address that we call or publish, without a trailing slash; undefined when it breaks `webAddressRule`. */
export function toWebAddress(text: string): string | undefined {
  const url = /[?#\s]/.test(text) ? undefined : readUrl(text);
  if (url?.username !== '' || url.password !== '') return undefined;
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) return undefined;
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

function readUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

// `URL` has brought every spelling of an IPv4 address to four decimal parts, and put IPv6 in brackets.
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
