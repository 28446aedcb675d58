import type { CliConfig } from '../config.js';
import { plain } from './text.js';

type IngressPlace = Pick<CliConfig, 'publicUrl' | 'ingressHost' | 'ingressPort'>;

const withinMs = 5_000;
const maxReason = 200;

/** The public URL of these settings, else the ingress on this machine: at the loopback address where it listens on all addresses. Null
 *  where port 0 lets the system choose the port. */
export function ingressUrl({ publicUrl, ingressHost, ingressPort }: IngressPlace): string | null {
  if (publicUrl !== null) return publicUrl;
  if (ingressPort === 0) return null;
  const everywhere: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const host = everywhere[ingressHost] ?? ingressHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${ingressPort}`;
}

/** Whether the ingress at `baseUrl` takes deliveries, as its `/readyz` says, and the remedy. `skipped`: something answers, but not with
 *  that page. Never throws. */
export async function judgeIngress(baseUrl: string): Promise<{ result: 'ok' | 'failed' | 'skipped'; message: string }> {
  try {
    const answer = await fetch(`${baseUrl}/readyz`, { redirect: 'manual', signal: AbortSignal.timeout(withinMs) });
    const { status } = answer;
    const [line = ''] = (await answer.text()).slice(0, maxReason).split('\n');
    if (status === 200 && line === 'ready') return { result: 'ok', message: `${baseUrl} takes deliveries` };
    if (status !== 503)
      return {
        result: 'skipped',
        message: `${baseUrl} answers, but not with /readyz (HTTP ${status}), which is elsewhere where FARETRAIL_INGRESS_METRICS_PORT is set`,
      };
    const why = plain(line) || 'HTTP 503';
    return { result: 'failed', message: `the ingress at ${baseUrl} takes no deliveries now: ${why}` };
  } catch (error) {
    const remedy = 'start the ingress (npm run ingress), or correct FARETRAIL_PUBLIC_URL';
    return { result: 'failed', message: `no connection to ${baseUrl} (${obstacleOf(error)}); ${remedy}` };
  }
}

function obstacleOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const { code } = (cause ?? error) as { code?: unknown };
  return typeof code === 'string' ? code : 'no answer';
}
