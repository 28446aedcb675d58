import { answersAt } from '../../stack/run/until.js';
import { freePort } from '../../stack/temporal/free-port.js';
import { startServerProcess } from '../../stack/temporal/server-process.js';
import type { Tool } from './tools.js';

/** What a proxy does to its connections; `cut` closes them and refuses new ones. */
export type Toxic =
  | 'cut'
  | {
      type: 'latency' | 'bandwidth' | 'reset_peer' | 'timeout' | 'slicer';
      /** `upstream`: what the side that has opened the connection sends. */
      stream: 'upstream' | 'downstream';
      attributes: Record<string, number>;
    };

/** A running toxiproxy. */
export interface Toxiproxy {
  /** A proxy before the address; returns its own, as `host:port`. */
  open(name: string, address: string): Promise<string>;
  /** Switches a toxic on. Resolves with its end. */
  disturb(name: string, toxic: Toxic): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

/** Starts it without a proxy. */
export async function startToxiproxy({ program }: Tool): Promise<Toxiproxy> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const isUp = () => answersAt(`${url}/version`);
  const server = await startServerProcess(program, ['-host', '127.0.0.1', '-port', String(port)], { isUp });

  async function ask(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<void> {
    const answer = await fetch(`${url}/proxies${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const said = await answer.text();
    if (!answer.ok) throw new Error(`toxiproxy answered ${answer.status} to ${method} ${path}: ${said}`);
  }

  return {
    async open(name, upstream) {
      const listen = `127.0.0.1:${await freePort()}`;
      await ask('POST', '', { name, listen, upstream, enabled: true });
      return listen;
    },
    async disturb(name, toxic) {
      if (toxic === 'cut') {
        await ask('POST', `/${name}`, { enabled: false });
        return () => ask('POST', `/${name}`, { enabled: true });
      }
      await ask('POST', `/${name}/toxics`, { name: 'now', ...toxic });
      return () => ask('DELETE', `/${name}/toxics/now`);
    },
    stop: () => server.stop(),
  };
}
