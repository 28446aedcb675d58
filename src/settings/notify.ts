import { originRule, toOrigin } from '../domain/web-address.js';
import { type KeyRing, signingForm } from '../sealing/key-ring.js';
import type { EnvReader } from './env-reader.js';

/** Which URLs may be told of changes, and with which secrets. */
export interface NotifySettings {
  /** As `URL` writes them, such as `https://orders.example.com`. Empty: none. */
  readonly origins: readonly string[];
  /** Each receiver gets secrets of its own made from these. */
  readonly secrets: KeyRing | null;
  readonly allowsPrivate: boolean;
}

/** The settings of a process that sends no notices. */
export const noNotify: NotifySettings = Object.freeze({ origins: [], secrets: null, allowsPrivate: false });

/** Reads `FARETRAIL_NOTIFY_*`. Problems name entries by position only. */
export function readNotify(read: EnvReader): NotifySettings {
  const allowsPrivate = read.oneOf('FARETRAIL_NOTIFY_PRIVATE', ['true', 'false']) === 'true';
  return Object.freeze({
    origins: readOrigins(read, allowsPrivate),
    secrets: read.keyRing('FARETRAIL_NOTIFY_SECRETS', signingForm) ?? null,
    allowsPrivate,
  });
}

function readOrigins(read: EnvReader, allowsPrivate: boolean): readonly string[] {
  const entries = read.list('FARETRAIL_NOTIFY_ORIGINS', (entry) => {
    const origin = toOrigin(entry);
    if (origin === undefined) return originRule;
    if (allowsPrivate || !origin.startsWith('http:')) return null;
    return 'is a loopback address; set FARETRAIL_NOTIFY_PRIVATE=true, or remove it';
  });
  return Object.freeze((entries ?? []).flatMap((entry) => toOrigin(entry) ?? []));
}
