import { expect, it } from 'vitest';
import { createTemporalMember } from '../../chaos/temporal-member.js';
import type { DevServer } from '../../local/temporal/dev-server.js';

/** A server that ends when it is told to, and by itself with `crash`. */
function server() {
  let crash = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    crash = resolve;
  });
  const end = async () => crash();
  return { crash, started: { ended, kill: end, stop: end, pid: 0 } as unknown as DevServer };
}

it('a Temporal server that ends by itself counts as down and is reported; one that is killed or stopped is not', async () => {
  const servers = [server(), server(), server()];
  const left = [...servers];
  const member = createTemporalMember({ program: '', databaseFile: '', port: 1 }, async () => {
    const next = left.shift();
    if (!next) throw new Error('there are no more');
    return next.started;
  });
  for (const end of [member.kill, member.stop]) {
    await member.start();
    await end();
  }
  expect(member.ownEnds()).toEqual([]);

  await member.start();
  expect(await member.isUp()).toBe(true);
  servers[2]?.crash();
  await expect.poll(() => member.ownEnds()).toEqual([{ at: expect.any(Number), code: null }]);
  expect(await member.isUp()).toBe(false);
});
