// The promises of faretrail that hold in each course, whatever it is about. The numbers are those of the invariants.
import type { Course, Promised } from './scenario.js';

export const generalPromises: readonly Promised<Course>[] = [
  ['I1: Temporal gets each delivery that was acknowledged', deliveriesNotTaken],
  ['I3: no history holds a token or a client secret', secretsInHistories],
  ['I4: tokens are requested once for each lifetime', tooManyTokens],
  ['I8: a rebuilt run does what its history says', ({ world }) => [...world.problems]],
];

function deliveriesNotTaken({ world: { ingress, namespace } }: Course): string[] {
  const left = ingress.waiting > 0 ? [`${ingress.waiting} deliveries stay in the journal`] : [];
  const parked = namespace.all().flatMap(({ type, workflowId }) => (type === 'parkedDelivery' ? [workflowId] : []));
  const unparked = [...ingress.parked].filter((id) => !parked.some((workflowId) => workflowId.endsWith(id)));
  return [...left, ...ingress.lost.map((id) => `${id} was lost`), ...unparked.map((id) => `${id} has no run`)];
}

function secretsInHistories({ world: { service, namespace } }: Course): string[] {
  const { tokens, clients } = service.state;
  const secrets = [...tokens.texts(), clients.business.clientSecret, clients.partner.clientSecret];
  return namespace.all().flatMap(({ workflowId, events }) => {
    const text = JSON.stringify(events, (_, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    );
    return secrets.some((secret) => text.includes(secret)) ? [workflowId] : [];
  });
}

const tokenLifetimeMs = 899_000;
const renewedAheadMs = 60_000;

/** Finds more tokens than lifetimes and disturbances explain. Each scope has its own token. */
function tooManyTokens({ world: { service, namespace }, startedAt, endedAt, plan }: Course): string[] {
  const { tokensIssued } = service.state.ledger.counts();
  const leases = namespace.all().filter(({ type }) => type === 'accessToken');
  const scopes = new Set(leases.map(({ workflowId }) => workflowId)).size;
  const lifetimes = scopes * (Math.ceil((endedAt - startedAt) / (tokenLifetimeMs - renewedAheadMs)) + 1);
  return tokensIssued > lifetimes + 8 * plan.disturbances.length
    ? [`${tokensIssued} tokens in ${lifetimes} lifetimes`]
    : [];
}
