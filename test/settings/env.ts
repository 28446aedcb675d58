import { Buffer } from 'node:buffer';
import { expect } from 'vitest';
import { ConfigError, type Env, type ReadFile } from '../../src/config.js';

/** 32 bytes of one value, encoded as the settings want them. */
export const encodedKey = (byte: number): string => Buffer.alloc(32, byte).toString('base64url');

export const partnerEnv: Env = {
  FARETRAIL_PARTNER_BASE_URL: 'https://partner.example',
  FARETRAIL_PARTNER_CLIENT_ID: 'partner-id',
  FARETRAIL_PARTNER_CLIENT_SECRET: 'partner-secret',
};

export const businessEnv: Env = {
  FARETRAIL_BUSINESS_BASE_URL: 'https://business.example',
  FARETRAIL_BUSINESS_CLIENT_ID: 'business-id',
  FARETRAIL_BUSINESS_CLIENT_SECRET: 'business-secret',
  FARETRAIL_BUSINESS_ID: '7b0c1d7e-5a53-4d7e-9d0c-1f2a3b4c5d6e',
};

export const sealingEnv: Env = { FARETRAIL_SEALING_KEYS: `k2:${encodedKey(2)},k1:${encodedKey(1)}` };

export const notifyEnv: Env = {
  FARETRAIL_NOTIFY_ORIGINS: 'https://orders.example.com, https://Shop.example:8443/',
  FARETRAIL_NOTIFY_SECRETS: `n2:${encodedKey(8)},n1:${Buffer.alloc(24, 9).toString('base64url')}`,
};

/** A reader of files that exist only here; any other path fails as on disk. */
export const files =
  (contents: Record<string, string>): ReadFile =>
  (path) => {
    const content = contents[path];
    if (content === undefined) throw Object.assign(new Error(`no such file ${path}`), { code: 'ENOENT' });
    return content;
  };

export const accountsFile = (accounts: unknown): ReadFile => files({ 'accounts.json': JSON.stringify({ accounts }) });

/** The error that loading ends with; fails when it ends without one. */
export function configErrorOf(load: () => unknown): ConfigError {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('loading reported no problem');
}

/** The problems that loading reports. */
export const problemsOf = (load: () => unknown): readonly string[] => configErrorOf(load).problems;

/** Expects that loading reports one problem, whose text begins like this. */
export function expectProblem(load: () => unknown, begins: string): void {
  const [problem, ...others] = problemsOf(load);
  expect(problem?.slice(0, begins.length)).toBe(begins);
  expect(others).toEqual([]);
}
