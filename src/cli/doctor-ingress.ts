import type { CliConfig } from '../config.js';
import type { Check } from './doctor-checks.js';
import { askIngress } from './ingress-reachability.js';

type IngressSettings = Pick<CliConfig, 'webhookKeys' | 'publicUrl' | 'ingressHost' | 'ingressPort'>;

/** Does an ingress take deliveries, at its public URL or else on this machine? Only asked where its keys are set. */
export async function checkIngress(settings: IngressSettings): Promise<Check[]> {
  if (!settings.webhookKeys) return [];
  const url = settings.publicUrl ?? localUrl(settings);
  return [{ name: 'ingress', ...(await look(url)) }];
}

async function look(url: string): Promise<Omit<Check, 'name'>> {
  const state = await askIngress(url);
  switch (state.is) {
    case 'ready':
      return { result: 'ok', message: `${url} takes deliveries` };
    case 'notReady':
      return { result: 'failed', message: `${url} takes no deliveries now: ${state.why}` };
    case 'unreachable': {
      const remedy = 'start it (npm run ingress), or correct FARETRAIL_PUBLIC_URL';
      return { result: 'failed', message: `no connection to ${url} (${state.why}); ${remedy}` };
    }
    case 'hidden':
      return { result: 'skipped', message: `${url} answers, but does not show /readyz (${state.why})` };
  }
}

/** An ingress that listens everywhere is asked at the loopback address. */
function localUrl({ ingressHost, ingressPort }: IngressSettings): string {
  const host = ['0.0.0.0', '::', '[::]'].includes(ingressHost) ? '127.0.0.1' : ingressHost;
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${ingressPort}`;
}
