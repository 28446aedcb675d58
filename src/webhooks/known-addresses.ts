import { timingSafeEqual } from 'node:crypto';
import type { SubscriptionKey } from '../domain/workflow-ids.js';

/** Reads the last segment of a path: the generation, if its mac is ours. Takes as long for a wrong one as for another. */
export type ReadCapability = (key: SubscriptionKey, capability: string) => string | undefined;

/** An account has few addresses at a time; a bound for memory. */
const maxKnown = 1_000;

/** The same reader, but a mac that was once found good is compared instead of computed: nearly all requests come to few
 *  addresses. What is looked up (account, event type, generation) is no secret; the mac is compared in constant time. */
export function rememberAddresses(read: ReadCapability): ReadCapability {
  const known = new Map<string, { text: Buffer; generation: string }>();
  return (key, capability) => {
    const name = `${key.account}/${key.eventType}/${capability.slice(0, capability.indexOf('.'))}`;
    const given = Buffer.from(capability);
    const held = known.get(name);
    if (held && held.text.length === given.length && timingSafeEqual(held.text, given)) return held.generation;
    const generation = read(key, capability);
    if (generation === undefined) return undefined;
    if (known.size >= maxKnown) known.clear();
    known.set(name, { text: given, generation });
    return generation;
  };
}
