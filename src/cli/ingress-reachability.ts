import type { CliConfig } from '../config.js';
import { plain } from './text.js';

type IngressPlace = Pick<CliConfig, 'publicUrl' | 'ingressHost' | 'ingressPort'>;

const withinMs = 5_000;
const maxReason = 200;

/** Whether an ingress takes deliveries, as its `/readyz` says. `hidden`: something answers, but not with that page. */
type IngressState = { is: 'ready' } | { is: 'notReady' | 'unreachable' | 'hidden'; why: string };

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
async function askIngress(baseUrl: string): Promise<IngressState> {
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

/** Whether the ingress at `baseUrl` takes deliveries, and the remedy. `skipped`: that cannot be seen from here. */
export async function judgeIngress(baseUrl: string): Promise<{ result: 'ok' | 'failed' | 'skipped'; message: string }> {
  const state = await askIngress(baseUrl);
  switch (state.is) {
    case 'ready':
      return { result: 'ok', message: `${baseUrl} takes deliveries` };
    case 'notReady':
      return { result: 'failed', message: `the ingress at ${baseUrl} takes no deliveries now: ${state.why}` };
    case 'unreachable': {
      const remedy = 'start the ingress (npm run ingress), or correct FARETRAIL_PUBLIC_URL';
      return { result: 'failed', message: `no connection to ${baseUrl} (${state.why}); ${remedy}` };
    }
    case 'hidden':
      return { result: 'skipped', message: `${baseUrl} answers, but does not show /readyz (${state.why})` };
  }
}
