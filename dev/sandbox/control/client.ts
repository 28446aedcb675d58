import { allCommands, type SandboxCommands } from './commands.js';

type Remote<F> = F extends (...args: infer Args) => infer Result ? (...args: Args) => Promise<Awaited<Result>> : never;

/** The commands of a sandbox in another process: the same names, with promises. */
export type SandboxControl = { [Name in keyof SandboxCommands]: Remote<SandboxCommands[Name]> } & {
  isHealthy(): Promise<boolean>;
};

/** Sends commands to the sandbox at `url`. A refused command throws with the sandbox's reasons. */
export function controlSandbox(url: string): SandboxControl {
  const send = async (route: string, input: object): Promise<unknown> => {
    const [method = '', pattern = ''] = route.split(' ');
    const left = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
    const path = pattern.replace(/:(\w+)/g, (_, name: string) => {
      const value = String(left.get(name));
      left.delete(name);
      return encodeURIComponent(value);
    });
    const query = method === 'GET' && left.size > 0 ? `?${new URLSearchParams([...left] as [string, string][])}` : '';
    const body = method !== 'GET' && left.size > 0 ? JSON.stringify(Object.fromEntries(left)) : undefined;
    const response = await fetch(`${url}/sandbox/${path}${query}`, { method, ...(body !== undefined && { body }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`sandbox refused ${method} ${path}: ${text}`);
    return JSON.parse(text);
  };
  const remote = allCommands.map(([name, { route, input, as }]) => [
    name,
    async (...args: unknown[]) => {
      const answer = await send(route, input(...args) as object);
      return as === undefined ? answer : (answer as Record<string, unknown>)[as];
    },
  ]);
  const isHealthy = () =>
    send('GET health', {}).then(
      () => true,
      () => false,
    );
  return { ...Object.fromEntries(remote), isHealthy } as SandboxControl;
}
