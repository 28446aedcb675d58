import { describe, expect, it } from 'vitest';
import { createNamedKey } from '../../src/sealing/key-ring.js';
import { createWebhookPaths } from '../../src/sealing/webhook-paths.js';
import { businessAccount } from '../ride-api/accounts.js';

const keys = [createNamedKey('w1', Buffer.alloc(32, 7))] as const;
const key = { account: businessAccount().name, eventType: 'status_changed' } as const;
/** Release 0.2.0 gave this path out under these keys. */
const earlier = '/webhooks/business/status_changed/m3x9k2.jQzuqxPYm7andz1SqpQ59d3l1cUFh39Gl6ffBz8VHs0';

const capabilityOf = (path: string): string => path.split('/').at(-1) ?? '';
const pathAt = (publicUrl: string): string =>
  createWebhookPaths(keys).pathOf({ ...key, generation: 'm3x9k2', publicUrl });
/** Does an ingress with this setting take a delivery to this path, which a sender sends to this host? */
const takes = (publicUrls: string[], path: string, host = 'rides.example'): boolean =>
  createWebhookPaths(keys, publicUrls).readCapability(key, capabilityOf(path), host) === 'm3x9k2';

const rides = 'https://rides.example';

describe('a webhook address', () => {
  it('that release 0.2.0 gave out works everywhere', () => {
    for (const publicUrls of [[], [rides], ['https://other.example', rides]]) {
      expect(takes(publicUrls, earlier)).toBe(true);
      expect(takes(publicUrls, earlier, 'anything.example')).toBe(true);
    }
    expect(createWebhookPaths(keys).pathOf({ ...key, generation: 'm3x9k2' })).toBe(earlier);
  });

  it('works at its own host alone, whatever Host a sender names', () => {
    expect(takes([rides], pathAt(rides))).toBe(true);
    expect(takes(['https://other.example', rides], pathAt(rides))).toBe(true);
    for (const host of ['attacker.example', 'rides.example', '']) {
      expect(takes([rides], pathAt('https://attacker.example'), host)).toBe(false);
      expect(takes([rides], pathAt('https://rides.example:8443'), host)).toBe(false);
    }
  });

  it('is checked by the Host of the request where no public URL is set', () => {
    expect(takes([], pathAt(rides))).toBe(true);
    for (const host of ['RIDES.example', 'rides.example:443']) expect(takes([], pathAt(rides), host)).toBe(true);
    for (const host of ['attacker.example', 'rides.example:8443', '', '/', 'a b', 'rides.example/'])
      expect([host, takes([], pathAt(rides), host)]).toEqual([host, false]);
  });

  it('has the path of its public URL aside, and no two spellings of a host', () => {
    const spellings = ['https://RIDES.example', 'https://rides.example:443', 'https://rides.example/base'];
    expect(new Set(spellings.map(pathAt))).toEqual(new Set([pathAt(rides)]));
    expect(pathAt(rides)).not.toBe(earlier);
  });

  it('of a loopback host is the same for all ports: no other machine can reach it', () => {
    for (const publicUrl of ['http://127.0.0.1:8480', 'http://localhost:1', 'https://[::1]'])
      expect(pathAt(publicUrl)).toBe(earlier);
  });
});
