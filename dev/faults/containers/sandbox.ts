import type { DeliveryAttempt } from '../../sandbox/delivery/ledger.js';

/** An order of the sandbox, which a run in a container follows. */
export interface Order {
  orderId: string;
  statuses: string[];
  /** What sandboxes that were stopped have sent. */
  earlier: DeliveryAttempt[];
}

export type SandboxPort = ReturnType<typeof openSandbox>;

export const account = 'business';

/** The commands of the sandbox at its published port. */
export function openSandbox(port: number) {
  async function ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await fetch(`http://127.0.0.1:${port}/sandbox/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`the sandbox answered ${answer.status} to ${method} ${path}`);
    return (await answer.json()) as Answer;
  }

  return {
    answers: async (): Promise<boolean> => (await ask<{ status: string }>('GET', 'health')).status === 'ok',
    /** Adds the order with its last status. The sandbox keeps orders in memory: after its restart it has to be told again. */
    async add({ orderId, statuses }: Order): Promise<void> {
      const script = [{ status: statuses.at(-1), afterMs: 0 }];
      await ask('POST', 'orders', { interface: account, orderId, script });
    },
    /** Announces the status to subscribers, too. */
    async setStatus({ orderId }: Order, status: string): Promise<void> {
      await ask('PUT', `orders/${account}/${orderId}/status`, { status });
    },
    async attempts({ orderId, earlier }: Order): Promise<DeliveryAttempt[]> {
      return [...earlier, ...(await ask<DeliveryAttempt[]>('GET', `deliveries?orderId=${orderId}`))];
    },
    /** All that it gave out and nobody may see, by name. */
    async issued(): Promise<[string, string][]> {
      const tokens = await ask<string[]>('GET', 'tokens');
      const subscribers = await ask<{ secretId: string }[]>('GET', 'subscribers');
      return [
        ...tokens.map((token, index): [string, string] => [`access token ${index + 1}`, token]),
        ...subscribers.map(({ secretId }, index): [string, string] => [`secret of subscriber ${index + 1}`, secretId]),
      ];
    },
  };
}
