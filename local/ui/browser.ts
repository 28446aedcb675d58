import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const usualPlaces = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The Chromium of the system; undefined: there is none in the usual places. */
export const findBrowser = (): string | undefined => usualPlaces.find((path) => existsSync(path));

/** It reaches this machine alone: the Temporal UI also asks for news of the world. */
export const openBrowser = (executablePath: string): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'],
  });
