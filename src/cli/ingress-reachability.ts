import type { CliConfig } from '../config.js';
import { plain } from './text.js';

type IngressPlace = Pick<CliConfig, 'publicUrl' | 'ingressHost' | 'ingressPort'>;

const withinMs = 5_000;
const maxReason = 200;

/** Whether an ingress takes deliveries, as its `/readyz` says. `hidden`: something answers, but not with that page. */
export type IngressState = { is: 'ready' } | { is: 'notReady' | 'unreachable' | 'hidden'; why: string };

/** The ingress of these settings: the public one, else the one on this machine; null where its port is any free one. An
 *  ingress that listens everywhere is asked at the loopback address. */
export function ingressUrl({ publicUrl, ingressHost, ingressPort }: IngressPlace): string | null {
  if (publicUrl !== null) return publicUrl;
  if (ingressPort === 0) return null;
  const everywhere: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const host = everywhere[ingressHost] ?? ingressHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${ingressPort}`;
}

/** Asks the ingress at `baseUrl`. Never throws. */
export async function askIngress(baseUrl: string): Promise<IngressState> {
  try {
    const answer = await fetch(`${baseUrl}/readyz`, { redirect: 'manual', signal: AbortSignal.timeout(withinMs) });
    const [line = ''] = (await answer.text()).slice(0, maxReason).split('\n');
    if (answer.status === 200 && line === 'ready') return { is: 'ready' };
    if (answer.status === 503) return { is: 'notReady', why: plain(line) || 'HTTP 503' };
    return { is: 'hidden', why: `HTTP ${answer.status}` };
  } catch (error) {
    return { is: 'unreachable', why: obstacleOf(error) };
  }
}

function obstacleOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const { code } = (cause ?? error) as { code?: unknown };
  return typeof code === 'string' ? code : 'no answer';
}

/** What an operator should know of the ingress at `baseUrl`; undefined when it takes deliveries. */
export async function ingressWarning(baseUrl: string): Promise<string | undefined> {
  const state = await askIngress(baseUrl);
  switch (state.is) {
    case 'ready':
      return undefined;
    case 'notReady':
      return `the ingress at ${baseUrl} takes no deliveries now: ${state.why}`;
    case 'unreachable':
      return `no ingress can be reached from here at ${baseUrl} (${state.why}); start one: npm run ingress`;
    case 'hidden':
      return `something answers at ${baseUrl}, but not as the ingress (${state.why} for /readyz)`;
  }
}
