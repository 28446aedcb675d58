import { toWebAddress } from '../domain/web-address.js';
import { type KeyRing, signingForm } from '../sealing/key-ring.js';
import type { EnvReader } from './env-reader.js';

/** Which URLs may be told of changes, and with which secrets. */
export interface NotifySettings {
  /** As `URL` writes them, such as `https://orders.example.com`. Empty: none. */
  readonly origins: readonly string[];
  /** All sign. */
  readonly secrets: KeyRing | null;
  readonly allowsPrivate: boolean;
}

/** Of a process that tells nobody. */
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
  const name = 'FARETRAIL_NOTIFY_ORIGINS';
  const text = read.text(name);
  const entries = text === undefined ? [] : text.split(',').map((entry) => toOrigin(entry.trim()));
  entries.forEach((origin, index) => {
    const at = `entry ${index + 1}`;
    if (origin === undefined) {
      read.refuse(
        name,
        `${at} must be an https origin (http only at a loopback address) such as https://orders.example.com`,
      );
    } else if (origin.startsWith('http:') && !allowsPrivate) {
      read.refuse(name, `${at} is a loopback address; set FARETRAIL_NOTIFY_PRIVATE=true, or remove it`);
    }
  });
  return Object.freeze(entries.filter((origin) => origin !== undefined));
}

function toOrigin(text: string): string | undefined {
  const address = toWebAddress(text);
  return address !== undefined && address === new URL(address).origin ? address : undefined;
}
