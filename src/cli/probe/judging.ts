import { wallMs } from '../../clock.js';
import { pointersWhere } from '../../contracts/body-shape.js';
import {
  type ContractProfile,
  type OperationName,
  pathToTry,
  type TokenEncoding,
} from '../../contracts/contract-profile.js';
import { readErrorBody } from '../../contracts/error-body.js';
import { isJsonObject, parentPointer, valueAt } from '../../contracts/json.js';
import { findOrderId, findStatus, parseOrderReply } from '../../contracts/order-reply.js';
import { isKnownWord, likelyStatus } from '../../contracts/status-words.js';
import { FaretrailError } from '../../domain/errors.js';
import { iso } from '../../domain/instant.js';
import { isSameId, type OrderId } from '../../domain/keys.js';
import type { RideStatus } from '../../domain/order/status.js';
import type { ApiReply } from '../../ride-api/http.js';
import { isRateLimit, isSuccess } from '../../ride-api/refusal.js';

/** `open`: the answer proves nothing either way. `unanswered`: the service gave no answer to judge. */
export type Verdict = 'fits' | 'wrong' | 'open' | 'unanswered';

/** An operation whose answer is an order. */
export type OrderRead = 'orderStatus' | 'orderDetails';

/** One change of the contract profile that an answer suggests. */
export type Change =
  | { kind: 'success'; operation: OperationName; status: number }
  | { kind: 'pointer'; operation: OrderRead; value: 'status' | 'orderId'; pointer: string }
  | { kind: 'word'; word: string; status: RideStatus }
  | { kind: 'encoding'; encoding: TokenEncoding }
  | { kind: 'repeatable' }
  | { kind: 'verified'; operation: OperationName };

/** What an answer says about the profile. */
export interface Judgement {
  verdict: Verdict;
  /** For a person: what does not fit, and which field to look at. */
  remarks: string[];
  changes: Change[];
  /** Of the answer about an order: the first pointers that found something. */
  matched?: { status: string | null; isKnownStatus: boolean; orderId: string | null };
}

/** An answer that changes nothing in the profile. */
export const judged = (verdict: Verdict, ...remarks: string[]): Judgement => ({ verdict, remarks, changes: [] });

/** The profile with a change in it. */
export function changed(profile: ContractProfile, change: Change): ContractProfile {
  const copy = structuredClone(profile);
  switch (change.kind) {
    case 'success':
      copy.operations[change.operation].success.push(change.status);
      break;
    case 'verified':
      Object.assign(copy.operations[change.operation], {
        source: 'verified',
        verifiedOn: iso(wallMs()).slice(0, 10),
      });
      break;
    case 'encoding':
      copy.tokens.businessEncoding = change.encoding;
      break;
    case 'repeatable':
      copy.operations.createOrder.repeatable = true;
      break;
    case 'word':
      copy.statuses.words[change.word] = change.status;
      break;
    case 'pointer': {
      const pointers: Partial<Record<string, string[]>> = copy.pointers[change.operation];
      const others = pointers[change.value]?.filter((one) => one !== change.pointer) ?? [];
      pointers[change.value] = [change.pointer, ...others];
    }
  }
  return copy;
}

/** The change in words. */
export function changeText(change: Change): string {
  switch (change.kind) {
    case 'success':
      return `operations.${change.operation}.success: add ${change.status}`;
    case 'pointer':
      return `pointers.${change.operation}.${change.value}: put "${change.pointer}" first`;
    case 'encoding':
      return `tokens.businessEncoding: "${change.encoding}"`;
    case 'repeatable':
      return 'operations.createOrder.repeatable: true';
    case 'word':
      return `statuses.words: add "${change.word}": "${change.status}"`;
    case 'verified':
      return `operations.${change.operation}.source: "verified"`;
  }
}

/** The short code word of an error body: it tells a person whether the path or the id is not known. */
function codeOf({ body }: ApiReply): string {
  const { code } = readErrorBody(body);
  return code === null ? '' : ` (code word ${code})`;
}

/** What a refusal says about the profile's idea of this operation. */
function judgeRefusal(reply: ApiReply, name: OperationName): Judgement {
  const { status } = reply;
  if (isRateLimit(reply) || status >= 500) return judged('unanswered', `HTTP ${status}; try again later`);
  if (status === 402) return judged('open', 'the service wants a payment first');
  const field = `operations.${name}`;
  const suspects =
    status === 401 || status === 403
      ? `the id of the company, ${field}.scope, and what the client may do for this company`
      : `${field}.path and ${field}.method, the base URL, and the id of the company`;
  const what = status < 300 ? 'an error in an answer with' : 'refused with';
  return judged('wrong', `${what} HTTP ${status}${codeOf(reply)}: check ${suspects}`);
}

/** What is to be changed, and what a person has to know or to decide. */
type Proposal = Pick<Judgement, 'changes' | 'remarks'>;
const nothing: Proposal = { changes: [], remarks: [] };

/** A success code that came and that the profile does not list is to be added. */
const proposeCode = ({ status }: ApiReply, operation: OperationName, profile: ContractProfile): Proposal =>
  profile.operations[operation].success.includes(status)
    ? nothing
    : {
        changes: [{ kind: 'success', operation, status }],
        remarks: [`HTTP ${status} is a success that the profile lacks`],
      };

/** Judges an answer that has to be a JSON object, whatever is in it. */
export function judgeObject(reply: ApiReply, operation: OperationName, profile: ContractProfile): Judgement {
  if (operation === 'orderReceipt' && reply.status === 404)
    return judged('open', 'no receipt: there is none yet, or operations.orderReceipt.path is wrong');
  if (reply.status === 404) return judged('wrong', `not found${codeOf(reply)}: check operations.${operation}.path`);
  if (!isSuccess(reply)) return judgeRefusal(reply, operation);
  if (!isJsonObject(reply.body)) return judged('wrong', 'the answer is no JSON object');
  const { changes, remarks } = proposeCode(reply, operation, profile);
  const verdict = changes.length === 0 ? 'fits' : 'wrong';
  return { verdict, remarks, changes: [...changes, { kind: 'verified', operation }] };
}

/** Judges the answer about an order id that cannot exist. */
export function judgeUnknownOrder(reply: ApiReply, operation: OrderRead): Judgement {
  const { status } = reply;
  if (isSuccess(reply)) return judged('wrong', `HTTP ${status} for an order that cannot exist`);
  if (status === 404) {
    const said = codeOf(reply) || ' (no code word at /error or /error/code)';
    return judged('fits', `not found${said}; a wrong path may answer 404, too`);
  }
  if ([400, 403, 410, 422].includes(status))
    return judged('open', `an unknown order answers HTTP ${status}, so its run will not show orderNotFound`);
  return judgeRefusal(reply, operation);
}

/** An order that was asked for, and the profile by which its answer is read. */
interface AskedOrder {
  operation: OrderRead;
  orderId: OrderId;
  profile: ContractProfile;
}

/** Judges the answer about the operator's order, and proposes pointers where the profile's find nothing. */
export function judgeOrder(reply: ApiReply, asked: AskedOrder): Judgement {
  const { operation, orderId, profile } = asked;
  const { body } = reply;
  if (reply.status === 404) {
    const first = pathToTry[operation];
    const hint = first === undefined || profile.operations[operation].path === first ? '' : `, first to ${first}`;
    const remedy = `check the order id; if it is right, set operations.${operation}.path${hint}`;
    return judged('wrong', `not found${codeOf(reply)}: ${remedy}`);
  }
  if (!isSuccess(reply)) return judgeRefusal(reply, operation);
  const pointers = profile.pointers[operation];
  const found = findStatus(body, pointers.status, profile.statuses.notOrderStatus);
  const idAt = pointers.orderId.find((pointer) => findOrderId(body, [pointer]) !== undefined) ?? null;
  const isKnownStatus = found !== undefined && isKnownWord(found.word, profile.statuses);
  const matched = { status: found?.pointer ?? null, isKnownStatus, orderId: idAt };

  const idPlaces = pointersWhere(body, (value) => isId(value) && isSameId(String(value), orderId));
  const word = proposeStatus(body, { operation, idPlaces, matched, statuses: profile.statuses });
  const statusAt = word.changes.find((one) => one.kind === 'pointer')?.pointer ?? matched.status ?? '';
  const besideStatus = idPlaces.filter((place) => parentPointer(place) === parentPointer(statusAt));
  const isOther = idAt !== null && !isSameId(findOrderId(body, [idAt]) ?? '', orderId);
  const isMissing = (idAt === null && idPlaces.length > 0) || isOther;
  const id = isMissing ? proposal({ operation, value: 'orderId' }, [besideStatus, idPlaces], idPlaces) : nothing;
  const strange = `${idAt} holds another id than that of the order: pointers.${operation}.orderId needs its place first, or ${idAt} out`;
  const code = proposeCode(reply, operation, profile);
  const changes = [...code.changes, ...id.changes, ...word.changes];
  const isStrange = isOther && id.changes.length === 0;
  const remarks = [...code.remarks, ...(isStrange ? [strange] : []), ...id.remarks, ...word.remarks];

  if (!canRead(reply, { ...asked, profile: changes.reduce(changed, profile) }))
    return { verdict: 'wrong', remarks, changes, matched };
  const verdict = changes.length > 0 ? 'wrong' : remarks.length > 0 ? 'open' : 'fits';
  // A word that we do not know proves the path only where it stands beside the order's id.
  const isProven = isKnownStatus || word.changes.length > 0 || besideStatus.length > 0;
  const verified: Change[] = isProven ? [{ kind: 'verified', operation }] : [];
  return { verdict, remarks, changes: [...changes, ...verified], matched };
}

const isId = (value: unknown): boolean => typeof value === 'string' || Number.isSafeInteger(value);

function canRead({ body }: ApiReply, { operation, orderId, profile }: AskedOrder): boolean {
  try {
    parseOrderReply(body, profile.pointers[operation], profile.statuses, orderId);
    return true;
  } catch (error) {
    if (error instanceof FaretrailError) return false;
    throw error;
  }
}

const listSteps = (pointer: string): number => pointer.split('/').filter((name) => /^\d+$/.test(name)).length;

/** Stops and items have a status and an id of their own; what stands in the fewest lists goes first. */
function leastListed(pointers: readonly string[]): string[] {
  const fewest = Math.min(...pointers.map(listSteps));
  return pointers.filter((pointer) => listSteps(pointer) === fewest);
}

// A bare "status" or "status_name" may be one of the order; "payment_status" is one of something else.
const anyName = /(status|state|phase|stage)(_?(name|code|text|value|word))?$/i;
const plainName = new RegExp(`/((current|latest|order|ride|trip|journey|booking)_?)?${anyName.source}`, 'i');
const isOfOther = (pointer: string): boolean => anyName.test(pointer) && !plainName.test(pointer);

/** Proposes the first set that leaves no choice; otherwise names all `places` for a person. */
function proposal(
  { operation, value }: { operation: OrderRead; value: 'status' | 'orderId' },
  sets: readonly (readonly string[])[],
  places: readonly string[],
): Proposal {
  const field = `pointers.${operation}.${value}`;
  const [pointer] = sets.find((one) => one.length === 1) ?? [];
  if (pointer !== undefined)
    return {
      changes: [{ kind: 'pointer', operation, value, pointer }],
      remarks: [`${pointer} holds what ${field} looks for`],
    };
  const found = places.length === 0 ? 'no place that we know fits' : `${places.join(', ')} may be right for`;
  return { changes: [], remarks: [`${found} ${field}: a person must decide`] };
}

/** A word as a service writes statuses, and no value such as a name or a time. */
const plainWord = /^[\p{L}\p{N}][\p{L}\p{N}_-]{0,39}$/u;
const isPlainWord = (value: unknown): value is string => typeof value === 'string' && plainWord.test(value);

interface StatusSearch {
  operation: OrderRead;
  statuses: ContractProfile['statuses'];
  /** The places of the order's id. */
  idPlaces: readonly string[];
  matched: NonNullable<Judgement['matched']>;
}

/** The place of a known status word beside the order's id, where the body leaves no doubt about it: a wrong place could end the following
 *  of an order. */
function proposeStatus(
  body: unknown,
  { operation, idPlaces, statuses, matched: { status: matched, isKnownStatus } }: StatusSearch,
): Proposal {
  const words = pointersWhere(body, (value) => typeof value === 'string' && isKnownWord(value, statuses));
  const known = words.filter((place) => !isOfOther(place));
  const parents = idPlaces.map(parentPointer);
  const isBesideId = (place: string): boolean => parents.includes(parentPointer(place));
  const beside = leastListed(known.filter(isBesideId));
  const plain = beside.filter((place) => plainName.test(place));
  const hasRival = known.some((place) => !beside.includes(place) && plainName.test(place) && listSteps(place) === 0);
  if (matched === null) {
    const isNamed = (place: string): boolean => isBesideId(place) && plainName.test(place);
    const named = known.some(isBesideId) ? [] : leastListed(pointersWhere(body, isPlainWord).filter(isNamed));
    if (named.length === 1 && !hasRival) return proposeNamed(body, named[0] ?? '', operation);
    const places = [...new Set([...named, ...leastListed(known)])];
    return proposal({ operation, value: 'status' }, [plain, hasRival ? [] : beside], places);
  }
  if (isKnownStatus) {
    const [other] = isBesideId(matched) ? [] : plain;
    const doubt = `${matched} holds a known word, and so does ${other}, beside the order's id: a person must decide`;
    return other === undefined ? nothing : { changes: [], remarks: [doubt] };
  }
  // The profile's pointer found a word, but no status that we know: either the word is new, or the place is wrong.
  if (!isBesideId(matched) && plain.length === 1) return proposal({ operation, value: 'status' }, [plain], plain);
  const isOfOrder = isBesideId(matched) ? !isOfOther(matched) : idPlaces.length === 0 && plainName.test(matched);
  return proposeWord(body, matched, { isOfOrder, others: leastListed(known) });
}

/** The only place beside the order's id that has the name of a status. A wrong one does little harm: its words end no order. */
function proposeNamed(body: unknown, pointer: string, operation: OrderRead): Proposal {
  const word = proposeWord(body, pointer, { isOfOrder: true, others: [] });
  const remark = `${pointer} has the name of a status and stands beside the order's id: check it before you use the file`;
  return {
    changes: [{ kind: 'pointer', operation, value: 'status', pointer }, ...word.changes],
    remarks: [remark, ...word.remarks],
  };
}

/** What a word that we do not know probably means; otherwise a person has to say it. `others`: places of known words. */
function proposeWord(
  body: unknown,
  at: string,
  { isOfOrder, others }: { isOfOrder: boolean; others: readonly string[] },
): Proposal {
  const word = valueAt(body, at);
  const likely = typeof word === 'string' && isOfOrder ? likelyStatus(word) : undefined;
  if (typeof word === 'string' && likely !== undefined) {
    const guess = `the word "${word}" at ${at} probably means ${likely}: check it before you use the file`;
    return { changes: [{ kind: 'word', word, status: likely }], remarks: [guess] };
  }
  const hint = others.length > 0 ? `; known words stand at ${others.join(', ')}` : '';
  const said = isPlainWord(word) ? `the word "${word}"` : 'the word';
  const remark = `${said} at ${at} is no status that we know${hint}; set what it means in statuses.words`;
  return { changes: [], remarks: [remark] };
}
