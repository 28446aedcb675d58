import { readdirSync, readFileSync } from 'node:fs';

const usesItsOwn =
  /\b(startDevServer|startShiftedServer|openDeliveryScene|openSite|runChaos)\(|inject\('temporalDatabaseFile'\)/;

/** Tests that start a development server of their own, or read the file of ours: they would not meet a server that was given. */
export const devServerTests = (): string[] =>
  (readdirSync('test', { recursive: true }) as string[])
    .filter((file) => /^(e2e|processes|workflows|dev\/stack\/servers)\/.*\.test\.ts$/.test(file))
    .map((file) => `test/${file}`)
    .filter((file) => usesItsOwn.test(readFileSync(file, 'utf8')));
