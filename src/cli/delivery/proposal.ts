import type { ContractProfile } from '../../contracts/contract-profile.js';
import { type DeliveryField, type DeliveryShape, deliveryFields } from '../../contracts/delivery-shape.js';
import { isEventType, mustNameOrder } from '../../domain/subscription/subscription.js';

type Pointers = ContractProfile['pointers']['delivery'];
type Verification = ContractProfile['delivery']['verification'];

/** What fits the deliveries that came. */
export interface Proposal {
  /** Overrides for `FARETRAIL_CONTRACT_FILE`; null: nothing has to change. */
  profile: { pointers?: { delivery: Partial<Pointers> }; delivery?: { verification: Verification } } | null;
  /** What a person must decide, each with its field. */
  undecided: string[];
}

/** Proposes pointers for what the profile did not find, and the verification for the place where the secret stood. */
export function proposeProfile(shapes: readonly DeliveryShape[], profile: ContractProfile): Proposal {
  // Whoever knows an address can send bodies of any shape, but not the secret.
  const proven = shapes.filter(isProven);
  const trusted = proven.length > 0 ? proven : shapes;
  const found = deliveryFields.map((field) => ({ field, ...proposePointers(field, trusted, profile) }));
  const pointers = Object.fromEntries(found.flatMap(({ field, list }) => (list === null ? [] : [[field, list]])));
  const { verification, ...more } = proposeVerification(shapes, profile.delivery.verification);
  const parts: NonNullable<Proposal['profile']> = {
    ...(Object.keys(pointers).length > 0 && { pointers: { delivery: pointers as Partial<Pointers> } }),
    ...(verification !== null && { delivery: { verification } }),
  };
  return {
    profile: Object.keys(parts).length > 0 ? parts : null,
    undecided: [...found.flatMap(({ undecided }) => undecided), ...more.undecided],
  };
}

const isProven = ({ secret }: DeliveryShape): boolean => secret.place !== 'none' && secret.place !== 'unknown';

function proposePointers(field: DeliveryField, shapes: readonly DeliveryShape[], profile: ContractProfile) {
  const current = profile.pointers.delivery[field];
  const name = `pointers.delivery.${field}`;
  // A test delivery names no order, and a report need not. The profile may have been repaired since the delivery came.
  const isExpected = ({ eventType, outcome }: DeliveryShape): boolean =>
    outcome !== 'test' && (isEventType(eventType) ? mustNameOrder[eventType] : false);
  const open = shapes.filter((shape) => shape.body !== null && shape.matched[field] === null && isExpected(shape));
  const unsolved = open.filter(({ candidates }) => !candidates[field].some((pointer) => current.includes(pointer)));
  const best = [...new Set(unsolved.flatMap(({ candidates }) => candidates[field].slice(0, 1)))];
  const others = new Set(unsolved.flatMap(({ candidates }) => candidates[field].slice(1)));
  for (const pointer of best) others.delete(pointer);
  const undecided = [...others].map((pointer) => `${name}: ${pointer} may be the place as well; choose one`);
  if (field === 'orderId' && unsolved.some(({ candidates }) => candidates.orderId.length === 0))
    undecided.push(`${name}: some deliveries have no place that looks like an order id; see their shapes above`);
  // Last, so that the deliveries that are read now are read as before.
  return { list: best.length > 0 ? [...current, ...best] : null, undecided };
}

function proposeVerification(shapes: readonly DeliveryShape[], current: Verification) {
  const settings = shapes.filter(isProven).map(({ secret }) => toVerification(secret));
  const [first, ...others] = [...new Set(settings.map((one) => JSON.stringify(one)))];
  const name = 'delivery.verification';
  if (first === undefined) return { verification: null, undecided: [] };
  if (others.length > 0 || first === 'null')
    return {
      verification: null,
      undecided: [`${name}: no one mode fits where the secret stood; see the shapes above`],
    };
  const verification = JSON.parse(first) as Verification;
  const undecided = shapes.some(({ secret }) => secret.place === 'none')
    ? [`${name}: some deliveries held no secret where the ingress looks; with this mode the ingress refuses those`]
    : [];
  return isSame(verification, current) ? { verification: null, undecided: [] } : { verification, undecided };
}

const isSame = (one: Verification, other: Verification): boolean =>
  JSON.stringify(Object.entries(one).sort()).toLowerCase() ===
  JSON.stringify(Object.entries(other).sort()).toLowerCase();

/** Null: the place has a name that is not shown. */
function toVerification({ place, at, encoding = 'hex', prefix = '' }: DeliveryShape['secret']): Verification | null {
  if (place === 'body') return at.startsWith('/') ? { mode: 'body', pointer: at } : null;
  if (at === '*') return null;
  if (place === 'header') return { mode: 'header', name: at };
  return place === 'hmac' ? { mode: 'hmac', header: at, algorithm: 'sha256', encoding, prefix } : null;
}
