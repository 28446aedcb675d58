#!/usr/bin/env node
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { sampleOrders, toSandboxOrder } from './order/sample-orders.js';
import { type OtherAnswers, OtherAnswersSchema } from './other-answers.js';
import { type Sandbox, sandboxCredentials, startSandbox } from './sandbox.js';

interface Flags {
  host: string;
  port: number;
  speed: number;
  samples: boolean;
  answers?: OtherAnswers;
  seed: number;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('must be a port number, 0 to 65535.');
  return port;
}

function parseSpeed(text: string): number {
  const speed = Number(text);
  if (!(speed > 0) || !Number.isFinite(speed)) throw new InvalidArgumentError('must be a number above 0.');
  return speed;
}

function parseSeed(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('must be a whole number.');
  return Number(text);
}

function readAnswers(file: string): OtherAnswers {
  try {
    return OtherAnswersSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

function readFlags(argv: string[]): Flags {
  return new Command('sandbox')
    .description('Stand-in of the ride-ordering service, both interfaces at one address.')
    .option('--port <number>', 'port to listen on; 0: any free one', parsePort, 8490)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--speed <factor>', 'how much faster than real time orders advance', parseSpeed, 1)
    .option('--samples', 'begin with one order of each kind', false)
    .option(
      '--answers <file>',
      'operations that answer otherwise than the contract profile assumes, as JSON',
      readAnswers,
    )
    .option(
      '--seed <number>',
      'draws the header of the proof, and faults; any by default',
      parseSeed,
      randomInt(10 ** 9),
    )
    .allowExcessArguments(false)
    .exitOverride()
    .parse(argv)
    .opts<Flags>();
}

function manual({ url }: Sandbox, { seed }: Flags): string {
  const { partner, business } = sandboxCredentials;
  return [
    `sandbox listening on ${url}, with the seed ${seed}`,
    '',
    '# partner interface',
    `FARETRAIL_PARTNER_BASE_URL=${url}`,
    `FARETRAIL_PARTNER_CLIENT_ID=${partner.clientId}`,
    `FARETRAIL_PARTNER_CLIENT_SECRET=${partner.clientSecret}`,
    '',
    '# business interface',
    `FARETRAIL_BUSINESS_BASE_URL=${url}`,
    `FARETRAIL_BUSINESS_CLIENT_ID=${business.clientId}`,
    `FARETRAIL_BUSINESS_CLIENT_SECRET=${business.clientSecret}`,
    `FARETRAIL_BUSINESS_ID=${business.businessId}`,
    '',
    `Add an order: curl ${url}/sandbox/orders -d '{"interface":"partner","orderId":"1","script":[{"status":"Pending","afterMs":0}]}'`,
    'Stop with Ctrl+C.',
  ].join('\n');
}

/** One line for each order. */
function addSamples(sandbox: Sandbox, { speed }: Flags): string[] {
  return Object.entries(sampleOrders).map(([orderId, sample]) => {
    sandbox.addOrder(toSandboxOrder(sample, orderId, speed));
    return `  ${sample.interface.padEnd(8)}  ${orderId.padEnd(12)}  ${sample.name}`;
  });
}

async function main(): Promise<void> {
  const flags = readFlags(process.argv);
  const sandbox = await startSandbox({
    ...flags,
    ...(flags.answers ? { otherAnswers: flags.answers } : {}),
  });
  console.log(manual(sandbox, flags));
  if (flags.samples) console.log(['', 'Sample orders:', ...addSamples(sandbox, flags)].join('\n'));
  const stop = () => void sandbox.close().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

main().catch((error: unknown) => {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2); // commander has printed it
  console.error(`sandbox: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
