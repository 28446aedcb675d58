import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { type buildConnector, Client } from 'undici';
import { isLoopbackAddress } from '../domain/web-address.js';

/** The proxy through which calls to the service leave this network. */
export interface ServiceProxy {
  /** Such as `http://proxy.example:3128`, without user and password. */
  readonly origin: string;
  /** The value of `Proxy-Authorization`; null for a proxy that wants none. Never log it. */
  readonly authorization: string | null;
  /** The entries of `NO_PROXY`. */
  readonly noProxy: readonly string[];
}

/** Nothing was sent to the service. `why`: the HTTP status that the proxy answered, or the code of Node or undici. */
const noTunnel = (why: string | number): Error =>
  Object.assign(new Error('the proxy gave no tunnel'), { code: `PROXY_${why || 'LOST'}` });

/** Makes TLS connections through a tunnel of the proxy (RFC 9110 section 9.3.6), and all others with `direct`. */
export function throughProxy(
  { origin, authorization, noProxy }: ServiceProxy,
  direct: buildConnector.connector,
  withinMs: number,
): buildConnector.connector {
  async function openTunnel(authority: string): Promise<Socket> {
    const headers = { host: authority, ...(authorization !== null && { 'proxy-authorization': authorization }) };
    const client = new Client(origin, { connect: direct, headersTimeout: withinMs });
    const { statusCode, socket } = await client
      .connect({ path: authority, headers })
      .catch(({ code }: NodeJS.ErrnoException) => Promise.reject(noTunnel(code ?? '')));
    socket.on('error', () => {}); // what uses the tunnel fails, too, and tells
    if (statusCode === 200) return socket as Socket;
    socket.destroy();
    throw noTunnel(statusCode);
  }
  return (target, done) => {
    const name = isIPv6(target.hostname) ? `[${target.hostname}]` : target.hostname;
    const authority = `${name}:${target.port || 443}`;
    if (target.protocol !== 'https:' || isLoopbackAddress(`https://${authority}`) || isExempt(target, noProxy))
      return direct(target, done);
    openTunnel(authority)
      .then((httpSocket) => direct({ ...target, httpSocket }, done))
      .catch((error: Error) => done(error, null));
  };
}

/** Is the host named by `NO_PROXY`? An entry is a name with all below it, an address, a network, or `*`; with or without a port. */
export const isExempt = ({ hostname, port }: { hostname: string; port: string }, noProxy: readonly string[]): boolean =>
  noProxy.some((entry) => {
    const [, host = entry, at] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
    return (at === undefined || Number(at) === Number(port || 443)) && covers(host, hostname);
  });

function covers(entry: string, host: string): boolean {
  if (entry === '*') return true;
  const version = isIP(host);
  if (version === 0) return `.${toName(host)}`.endsWith(`.${toName(entry).replace(/^\*?\./, '')}`);
  const [family, longest] = version === 4 ? (['ipv4', 32] as const) : (['ipv6', 128] as const);
  const [address = '', bits = longest] = unbracketed(entry).split('/');
  if (isIP(address) !== version || !(Number(bits) <= longest)) return false;
  const network = new BlockList();
  network.addSubnet(address, Number(bits), family);
  return network.check(host, family);
}

const toName = (text: string): string => text.toLowerCase().replace(/\.$/, '');
const unbracketed = (host: string): string => host.replace(/^\[|\]$/g, '');
