import { shownText } from '../domain/json.js';
import type { RegisteredSubscriber } from '../domain/subscription/state.js';
import { isJsonObject, ownValue } from './json.js';
import { usableText } from './order-reply.js';

/** One subscriber as the service describes it. */
export interface Subscriber extends RegisteredSubscriber {
  /** In the answer to a new subscription (given), and perhaps nowhere else; null if the answer lacks it. Never log it or keep it in clear. */
  secretId: string | null;
  /** Holds the secret part of the webhook path: never log it. */
  deliveryAddress: string | null;
}

const maxLength = 1_000;
const maxIdLength = 200;
const maxTimeLength = 64;

const shown = (text: string | null): string | null => text && shownText(text);
const textOf = (value: unknown, longest = maxLength): string | null => usableText(value, longest) ?? null;

/** Reads one subscriber (fields given). Undefined without a usable id; any other field may be missing. */
export function parseSubscriber(body: unknown): Subscriber | undefined {
  const idOnWire = ownValue(body, 'id');
  const id = textOf(Number.isSafeInteger(idOnWire) ? String(idOnWire) : idOnWire, maxIdLength);
  if (id === null || /[\s\p{C}]/u.test(id)) return undefined;
  return {
    id,
    secretId: textOf(ownValue(body, 'secret_id')),
    deliveryAddress: textOf(ownValue(body, 'hook_address')),
    createdAt: shown(textOf(ownValue(body, 'created_at'), maxTimeLength)),
    updatedAt: shown(textOf(ownValue(body, 'updated_at'), maxTimeLength)),
  };
}

/** Reads a list of subscribers, bare or under `subscribers` or `data` (assumed), without unreadable entries. Undefined if there is no list. */
export function parseSubscriberList(body: unknown): Subscriber[] | undefined {
  const list = isJsonObject(body) ? (ownValue(body, 'subscribers') ?? ownValue(body, 'data')) : body;
  if (!Array.isArray(list)) return undefined;
  return list.flatMap((item) => parseSubscriber(item) ?? []);
}
