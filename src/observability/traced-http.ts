import type { NotifySender } from '../notify-http/sender.js';
import type { Http } from '../ride-api/http.js';
import type { IntakeAnswer, TakeDelivery } from '../webhooks/intake.js';
import type { SpanAbout, Tracing } from './tracing.js';

// Attributes are those of the semantic conventions of OpenTelemetry for HTTP. A URL stands in them without what may be secret.

type Attributes = SpanAbout['attributes'];

const redacted = 'REDACTED';

/** Of a URL with this path. Its query, and a name and password in it, stay out. */
function aboutUrl({ protocol, hostname, port, origin }: URL, path: string): Attributes {
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return { 'url.full': `${origin}${path}`, 'server.address': hostname, 'server.port': Number(port || defaultPort) };
}

/** Says in the span of a call which request was made, and how it was answered. */
export const traceHttp = (http: Http, tracing: Tracing): Http => ({
  ...http,
  async send(request, signal) {
    const url = new URL(request.url);
    tracing.note(aboutUrl(url, url.pathname));
    const reply = await http.send(request, signal);
    tracing.note({ 'http.response.status_code': reply.status });
    return reply;
  },
});

/** Makes a span of each notice to a URL, and hands its trace on to the receiver. Path and query may be a secret of the receiver. */
export const traceNotices =
  (tracing: Tracing) =>
  (send: NotifySender['send']): NotifySender['send'] =>
  (input) => {
    const attributes = { 'http.request.method': 'POST', ...aboutUrl(new URL(input.url), `/${redacted}`) };
    return tracing.span({ name: 'POST', kind: 'client', attributes }, async ({ traceparent, note, fail }) => {
      const outcome = await send({ ...input, traceparent });
      if (outcome.kind === 'answered') note({ 'http.response.status_code': outcome.status });
      if (outcome.kind !== 'answered') fail(outcome.kind === 'unreachable' ? outcome.code : outcome.kind);
      else if (outcome.status >= 400) fail(String(outcome.status));
      return outcome;
    });
  };

const route = '/webhooks/:account/:eventType/:capability';

/** Makes a span of each delivery at one of our addresses, in the trace that its sender names. The journal and the signal continue it. */
export const traceIntake =
  (take: TakeDelivery, tracing: Tracing, statusOf: (outcome: IntakeAnswer['outcome']) => number): TakeDelivery =>
  (arrival, headers, rawBody) => {
    const { account, eventType } = arrival;
    const attributes = {
      ...{ 'http.request.method': 'POST', 'http.route': route, 'url.scheme': 'http' },
      'url.path': `/webhooks/${account}/${eventType}/${redacted}`,
      ...{ 'faretrail.account': account, 'faretrail.event_type': eventType },
    };
    const { traceparent } = headers;
    const parent = typeof traceparent === 'string' ? traceparent : undefined;
    return tracing.span({ name: `POST ${route}`, kind: 'server', attributes, parent }, async (span) => {
      const answer = await take({ ...arrival, traceparent: span.traceparent }, headers, rawBody);
      const { outcome, deliveryId } = answer;
      const status = statusOf(outcome);
      span.note({
        ...{ 'http.response.status_code': status, 'faretrail.outcome': outcome },
        ...(deliveryId === undefined ? {} : { 'faretrail.delivery_id': deliveryId }),
      });
      if (status >= 500) span.fail(outcome);
      return answer;
    });
  };
