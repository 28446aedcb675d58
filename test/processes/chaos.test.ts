import { expect, inject, it } from 'vitest';
import { runChaos } from '../../chaos/run.js';
import { isLong } from '../support/long.js';

const seconds = 300;

it.runIf(isLong)(
  `every promise holds while each process is killed, paused and restarted for ${seconds} s`,
  async () => {
    const seed = 1;
    const said: string[] = [];
    const temporalProgram = inject('temporalProgram');
    const report = await runChaos({ seed, forMs: seconds * 1_000, temporalProgram, say: (line) => said.push(line) });
    const { figures } = report;
    console.log(
      `seed ${seed}, ${figures.faults} faults, ${figures.ordersFollowed} orders, ${figures.ridesRequested} rides, ` +
        `${figures.deliveriesAcknowledged} deliveries acknowledged, ${figures.deliveriesLost} lost, ` +
        `${figures.tokenRequests} token requests, quiet after ${figures.settledMs} ms`,
    );
    expect(report.problems, said.join('\n')).toEqual([]);
    expect(figures.deliveriesAcknowledged).toBeGreaterThan(100);
    expect(figures.ordersFollowed).toBeGreaterThan(10);
  },
  600_000,
);
