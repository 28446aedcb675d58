import type { CliConfig } from '../config.js';
import type { Check } from './doctor-checks.js';
import { askIngress, ingressUrl } from './ingress-reachability.js';

type IngressSettings = Pick<CliConfig, 'webhookKeys' | 'publicUrl' | 'ingressHost' | 'ingressPort'>;

/** Does an ingress take deliveries, at its public URL or else on this machine? Only asked where its keys are set. */
export async function checkIngress(settings: IngressSettings): Promise<Check[]> {
  if (!settings.webhookKeys) return [];
  return [{ name: 'ingress', ...(await look(ingressUrl(settings))) }];
}

async function look(url: string | null): Promise<Omit<Check, 'name'>> {
  if (url === null) {
    const remedy = 'set FARETRAIL_PUBLIC_URL, or the port that it has';
    return { result: 'skipped', message: `FARETRAIL_INGRESS_PORT does not tell where it listens; ${remedy}` };
  }
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
