import { publishedAddresses } from '../domain/published.js';
import { type ParkedDeliveryKey, type SubscriptionKey, subscriptionId } from '../domain/workflow-ids.js';
import type { KeyRing } from '../sealing/key-ring.js';
import { createSealer, type Sealer } from '../sealing/sealer.js';
import { openContent } from '../webhooks/sealed-content.js';
import { callTimeoutMs, type Session } from './command-context.js';
import { readParkedInput } from './parked-run.js';

/** A parked delivery as a person may see it: without secrets. */
export interface OpenedDelivery {
  contentType: string | null;
  /** Null when the body is no text. */
  body: string | null;
  bytes: number;
}

/** Opens what was sealed; null where nothing was kept. Throws `SealingError` when these are not the keys of the ingress. */
export async function openParked(
  session: Session,
  key: ParkedDeliveryKey,
  keys: KeyRing,
): Promise<OpenedDelivery | null> {
  const { sealed, eventType } = await readParkedInput(session, key);
  if (sealed === '') return null;
  const sealer = createSealer(keys);
  const { rawBody, headers } = await openContent(sealer, key, sealed);
  const secrets = await readSecrets(session, sealer, { account: key.account, eventType });
  const text = toText(rawBody);
  return {
    contentType: headers['content-type'] ?? null,
    body: text === undefined ? null : withoutSecrets(text, secrets),
    bytes: rawBody.length,
  };
}

function toText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The secrets that the service may have put into the body. One that cannot be opened is hidden by its field's name. */
async function readSecrets(
  { client, within }: Session,
  sealer: Pick<Sealer, 'unseal'>,
  key: SubscriptionKey,
): Promise<string[]> {
  const context = subscriptionId(key);
  const memo = await within(callTimeoutMs, () => client.workflow.getHandle(context).describe()).then(
    (found) => publishedAddresses(found.memo),
    () => null, // never subscribed, or not to be asked now
  );
  const sealed = (memo?.accepted ?? []).flatMap(({ secrets }) => secrets);
  const opened = await Promise.all(sealed.map((one) => sealer.unseal(one, context).catch(() => '')));
  return opened.filter((secret) => secret !== '');
}

const hidden = '[secret]';

/** The text without these secrets, and without the value of any field that calls itself one. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const known = secrets.reduce((rest, secret) => rest.replaceAll(secret, hidden), text);
  let shown = '';
  let from = 0;
  for (const { 0: name, index } of known.matchAll(/"[^"\\]*secret[^"\\]*"\s*:\s*/gi)) {
    if (index < from) continue; // inside of a value that is hidden
    shown += `${known.slice(from, index)}${name}"${hidden}"`;
    from = endOfValue(known, index + name.length);
  }
  return shown + known.slice(from);
}

/** Where a JSON value that begins here ends; of one that is cut off the end of the text. */
function endOfValue(text: string, from: number): number {
  const tokens = /"(?:[^"\\]|\\.)*"?|[[{]|[\]},]|\s+|[^\s"[\]{},]+/gsy;
  tokens.lastIndex = from;
  let depth = 0;
  for (let match = tokens.exec(text); match !== null; match = tokens.exec(text)) {
    const [token] = match;
    if (depth === 0 && /^[\]},\s]/.test(token)) return match.index;
    if (/^[[{]/.test(token)) depth += 1;
    if (/^[\]}]/.test(token)) depth -= 1;
    if (depth === 0) return tokens.lastIndex;
  }
  return text.length;
}
