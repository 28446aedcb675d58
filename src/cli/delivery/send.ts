import { createHmac, randomUUID } from 'node:crypto';
import { request } from 'undici';
import { wallMs } from '../../clock.js';
import type { ContractProfile } from '../../contracts/contract-profile.js';
import { isJsonObject, ownValue, pointerTokens, readIncomingJson } from '../../contracts/json.js';
import { InvalidInput } from '../../domain/errors.js';
import { iso } from '../../domain/instant.js';
import type { OrderId } from '../../domain/keys.js';
import { publishedAddresses } from '../../domain/published.js';
import type { AcceptedGeneration } from '../../domain/subscription/subscription.js';
import { type SubscriptionKey, subscriptionId } from '../../domain/workflow-ids.js';
import { createSealer } from '../../sealing/sealer.js';
import { createWebhookPaths } from '../../sealing/webhook-paths.js';
import { option, orderOption } from '../arguments.js';
import { type CommandSpec, callTimeoutMs, reading, type Session } from '../command.js';
import { ingressUrl } from '../doctor.js';
import { CliFailure, exitCodes, tellUnreadable } from '../failure.js';
import { clip, paint } from '../text.js';

const help = `
Sends one delivery as the service would: to the newest address of the
subscription, signed where the contract profile expects a signature. Each one
is new, never a duplicate. The command needs the FARETRAIL_WEBHOOK_KEYS of the
ingress. It sends to FARETRAIL_PUBLIC_URL, else to the ingress of these
settings. It never shows the address or the secret.`;

/** `delivery send <account> <eventType>`: a correct test delivery to the ingress. */
export const sendCommand: CommandSpec = {
  form: 'send <account> <eventType>',
  does: 'send a correct test delivery to the ingress',
  examples: ['business status_changed --order 7b21 --status Driving', 'business business_report --order 7b21'],
  more: help,
  options: [
    orderOption('the order that it is about'),
    option('--status <status>', 'the status that it claims; the run reads the order itself'),
  ],
  act: reading(checkGiven, sendDelivery),
};

/** What is sent. */
interface SendGiven extends SubscriptionKey {
  order?: OrderId;
  status?: string;
}

function checkGiven(given: SendGiven): SendGiven {
  const { eventType, order, status } = given;
  switch (eventType) {
    case 'business_report':
      if (status !== undefined) throw new InvalidInput('--status: a business_report has none');
      return given;
    case 'status_changed':
      if (order === undefined) throw new InvalidInput('--order: missing; a status_changed is about an order');
      if (!status) throw new InvalidInput('--status: missing; name one, such as Driving');
      return given;
  }
}

/** Sends the delivery and shows its id and the ingress's answer. */
export async function sendDelivery(session: Session, given: SendGiven): Promise<number> {
  const { account, eventType } = given;
  const { profile, webhookKeys } = session.config;
  if (!webhookKeys) throw new InvalidInput('FARETRAIL_WEBHOOK_KEYS: missing; set the keys of the ingress');
  const base = ingressUrl(session.config);
  const where = 'missing; FARETRAIL_INGRESS_PORT does not tell where the ingress listens';
  if (base === null) throw new InvalidInput(`FARETRAIL_PUBLIC_URL: ${where}`);
  const { verification } = profile.delivery;
  const { generation, secrets, isSecretLost, verified } = await readNewest(session, given);
  const signing = signingOf(verification, verified?.header);
  if (signing !== null && !isSecretLost && secrets.length === 0) {
    const remedy = session.commandLine('subscription', 'list');
    throw new CliFailure('NotInPlace', `the secret of its newest address is not known yet; look later: ${remedy}`);
  }
  const [sealed] = signing === null ? [] : secrets;
  const unsealed = sealed && createSealer(webhookKeys).unseal(sealed, subscriptionId(given)).catch(tellUnreadable);
  const delivery = writeTestDelivery(given, profile, toProof(signing, await unsealed));
  const path = createWebhookPaths(webhookKeys).pathOf({ account, eventType, generation, publicUrl: base });
  return tellAnswer(session, base, await post(base, path, delivery));
}

/** The newest address that the subscription accepts. Throws `CliFailure` NotSubscribed. */
async function readNewest({ commandLine, get }: Session, key: SubscriptionKey): Promise<AcceptedGeneration> {
  const workflowId = subscriptionId(key);
  const remedy = commandLine('subscription', 'create', key.account, key.eventType);
  const notSubscribed = (what: string) => new CliFailure('NotSubscribed', `${what}; subscribe first: ${remedy}`);
  const { memo } = await get(workflowId, notSubscribed(`Temporal remembers no run ${workflowId}`));
  const [newest] = publishedAddresses(memo)?.accepted ?? [];
  if (!newest) throw notSubscribed(`${workflowId} accepts no deliveries`);
  return newest;
}

interface Answer extends ReturnType<typeof readAnswer> {
  httpStatus: number;
}

async function post(base: string, path: string, delivery: ReturnType<typeof writeTestDelivery>): Promise<Answer> {
  try {
    const signal = AbortSignal.timeout(callTimeoutMs);
    const answer = await request(`${base}${path}`, { method: 'POST', ...delivery, signal }); // follows no redirect
    return { httpStatus: answer.statusCode, ...readAnswer(await answer.body.bytes(), answer.headers['content-type']) };
  } catch (error) {
    // The error's own text may hold the address.
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer';
    const where = new URL(base).origin;
    throw new CliFailure('NoAnswer', `no answer from the ingress at ${where} (${code}); is it running there?`);
  }
}

/** Takes only what an ingress says, its id or why it refused the delivery: any other server may repeat the address, which is a secret. */
function readAnswer(bytes: Uint8Array, contentType: unknown) {
  const content = readIncomingJson(bytes)?.value;
  const [id, detail] = [ownValue(content, 'deliveryId'), ownValue(content, 'detail')];
  const isProblem = String(contentType).startsWith('application/problem+json');
  return {
    deliveryId: typeof id === 'string' && /^[0-9a-f]{32}$/.test(id) ? id : null,
    detail: typeof detail === 'string' && isProblem ? detail : null,
  };
}

function tellAnswer({ tell }: Session, base: string, answer: Answer): number {
  const { httpStatus, deliveryId, detail } = answer;
  const ok = httpStatus >= 200 && httpStatus < 300;
  const { origin } = new URL(base);
  const how = ok
    ? `Taken by ${origin} with ${httpStatus}: delivery ${deliveryId ?? 'without an id; is this an ingress?'}`
    : `Refused by ${origin} with ${httpStatus}${detail === null ? '' : `: ${clip(detail, 200)}`}`;
  tell({ ok, url: origin, ...answer }, paint(ok ? 'strong' : 'bad', how));
  return ok ? exitCodes.done : exitCodes.failed;
}

type Verification = ContractProfile['delivery']['verification'];

/** Of a report the service always sends this word, which is no status of an order (published). */
const wordOfReport = 'update';

/** Writes each value where the profile reads it, and `message` as a text that holds JSON (published). */
function writeTestDelivery(
  { eventType, order, status }: Omit<SendGiven, 'account'>,
  { pointers }: Pick<ContractProfile, 'pointers'>,
  proofOf: (body: string) => Record<string, string>,
): { headers: Record<string, string>; body: string } {
  const { delivery } = pointers;
  const places: [pointer: string | undefined, value: string | undefined][] = [
    [delivery.eventId[0] ?? '/id', randomUUID()],
    [delivery.eventType[0], eventType],
    [delivery.orderId[0], order],
    [delivery.status[0], eventType === 'business_report' ? wordOfReport : status],
    [delivery.eventTime[0] ?? '/timestamp', iso(wallMs())],
  ];
  let content: object = {};
  for (const [pointer, value] of places)
    if (pointer && value !== undefined) content = withValue(content, pointerTokens(pointer) ?? [], value);
  const message = ownValue(content, 'message');
  const body = JSON.stringify(isJsonObject(message) ? { ...content, message: JSON.stringify(message) } : content);
  return { headers: { 'content-type': 'application/json', ...proofOf(body) }, body };
}

/** How a delivery is signed; null: its address is its proof. */
type Signing = Pick<Extract<Verification, { mode: 'hmac' }>, 'header' | 'encoding' | 'prefix'>;

/** In mode `signed` the first signature makes signatures compulsory, in whatever header. So before the service has signed one, the test is
 *  sent without. */
function signingOf(verification: Verification, header: string | undefined): Signing | null {
  switch (verification.mode) {
    case 'signed':
      return header === undefined ? null : { header, encoding: 'base64', prefix: 'sha256=' };
    case 'hmac':
      return verification;
    case 'path':
      return null;
  }
}

/** No secret: the subscription has lost it. */
function toProof(signing: Signing | null, secret: string | undefined): (body: string) => Record<string, string> {
  if (signing === null || secret === undefined) return () => ({});
  const { header, encoding, prefix } = signing;
  return (body) => ({ [header]: `${prefix}${createHmac('sha256', secret).update(body).digest(encoding)}` });
}

function withValue(parent: object, [name = '', ...rest]: readonly string[], value: string): object {
  if (rest.length === 0) return { ...parent, [name]: value };
  const child: unknown = (parent as Record<string, unknown>)[name];
  return { ...parent, [name]: withValue(typeof child === 'object' && child !== null ? child : {}, rest, value) };
}
