import { expect, it } from 'vitest';
import { readSources } from './project-files.js';
import { parseSource, type SourceFile } from './source-file.js';

/** The files that a reader opens to follow one thing through the code, in the order in which it passes them. */
interface Walk {
  of: string;
  atMost: number;
  files: readonly string[];
}

/** Each file imports one of those before it, or is imported by one: a port stands before what implements it. */
const walks: readonly Walk[] = [
  {
    of: 'an order id, from the command that follows it to the timeline that shows it',
    atMost: 25,
    files: [
      'src/cli/order/follow.ts', // reads the arguments
      'src/domain/order/input.ts', // the input as the run takes it
      'src/client/faretrail-client.ts',
      'src/client/handles.ts', // asks for the trail, too
      'src/temporal/runs.ts',
      'src/temporal/follow-start.ts', // starts the run, or signals the one that there is
      'src/domain/workflow-ids.ts',
      'src/workflows/messages.ts',
      'src/workflows/order/follow-order.ts', // the life of the run
      'src/workflows/order/inbox.ts',
      'src/workflows/order/reads.ts', // decides when to read
      'src/activities/order.ts', // reads once
      'src/activities/looking.ts', // what a failed read means
      'src/activities/authorized-call.ts',
      'src/activities/token-source.ts',
      'src/ride-api/ride-api.ts',
      'src/ride-api/order.ts', // request and interpretation
      'src/ride-api/operation-request.ts',
      'src/ride-api/http.ts',
      'src/contracts/order-reply.ts',
      'src/domain/order/status.ts',
      'src/domain/order/trail.ts', // sorts each observation into the timeline
      'src/workflows/order/state.ts', // shows it
      'src/cli/order/show.ts', // prints it
    ],
  },
  {
    // Its four names: `RawDelivery` as it came, `DeliveryReading` for what its body claims, `JournaledDelivery` once it is durable,
    // `DeliveryNotice` for its run.
    of: 'a delivery, from the POST to the read that it causes',
    atMost: 25,
    files: [
      'src/webhooks/server.ts', // the route
      'src/webhooks/delivery-request.ts', // raw bytes
      'src/webhooks/intake.ts', // the pipeline
      'src/webhooks/accepted-subscriptions.ts', // which generations and secrets count
      'src/webhooks/verification.ts',
      'src/contracts/delivery-body.ts',
      'src/webhooks/journal/entries.ts',
      'src/webhooks/journal/journal.ts', // durable from here on: 202
      'src/webhooks/journal/store.ts',
      'src/webhooks/forward/forwarder.ts', // takes what the journal holds, order by order
      'src/webhooks/forward/plan.ts',
      'src/webhooks/forward/routing.ts', // decides where it goes
      'src/webhooks/delivery-port.ts',
      'src/threaded-deliveries.ts', // into the thread that speaks with Temporal
      'src/ingress-thread.ts',
      'src/temporal/deliveries.ts', // signals the run, or starts it
      'src/temporal/follow-start.ts',
      'src/workflows/messages.ts',
      'src/workflows/order/inbox.ts', // the signal arrives
      'src/workflows/order/state.ts', // where it is kept
      'src/workflows/order/reads.ts', // a read is wanted
      'src/activities/order.ts',
      'src/activities/authorized-call.ts',
      'src/ride-api/ride-api.ts',
      'src/ride-api/order.ts',
    ],
  },
  {
    of: 'a create whose answer is lost, from the ride to the person who resolves it',
    atMost: 18,
    files: [
      'src/workflows/ride/request-ride.ts', // sends it once, and waits when its outcome is unknown
      'src/workflows/business-call.ts',
      'src/activities/call.ts', // what an attempt leaves for the next
      'src/domain/call.ts',
      'src/ride-api/ride-api.ts',
      'src/ride-api/call.ts',
      'src/ride-api/operation-request.ts', // the request id in its header
      'src/ride-api/http.ts',
      'src/ride-api/network-failure.ts',
      'src/ride-api/errors.ts', // may it have been carried out?
      'src/activities/failures.ts',
      'src/domain/ride/ride.ts', // the attention of the ride
      'src/workflows/ride/state.ts',
      'src/workflows/ride/inbox.ts', // `resolveRide`
      'src/domain/ride/input.ts',
      'src/cli/ride/commands.ts',
    ],
  },
];

/** What is wrong with a written walk, one line each. */
function strayed({ of, atMost, files }: Walk, project: readonly SourceFile[]): string[] {
  const targetsOf = new Map(project.map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
  const isLinked = (one: string, other: string): boolean =>
    targetsOf.get(one)?.includes(other) === true || targetsOf.get(other)?.includes(one) === true;
  const steps = files.flatMap((file, step) => {
    if (!targetsOf.has(file)) return [`${file} does not exist`];
    const before = files.slice(0, step);
    if (before.includes(file)) return [`${file} stands twice`];
    return step === 0 || before.some((other) => isLinked(file, other)) ? [] : [`${file} is not reached`];
  });
  return [...(files.length > atMost ? [`${files.length} files for ${of}`] : []), ...steps];
}

const project = readSources();
const exportsOf = (path: string) => project.find((file) => file.path === path)?.exports ?? [];

it.each(walks)('a reader who follows $of opens at most $atMost files', (walk) => {
  expect(strayed(walk, project)).toEqual([]);
});

it('a delivery has four names on its way', () => {
  const onTheWay = walks.find(({ of }) => of.startsWith('a delivery'))?.files ?? [];
  const exported = project.filter(({ path }) => onTheWay.includes(path)).flatMap((file) => file.exports);
  const shapes = [...exported, ...exportsOf('src/domain/delivery.ts')].map(({ name }) => name);
  const names = shapes.filter((name) => /^([A-Z]\w*Delivery|Delivery(Body|Content|Notice|Reading))$/.test(name));
  expect([...new Set(names)].sort()).toEqual(['DeliveryNotice', 'DeliveryReading', 'JournaledDelivery', 'RawDelivery']);
});

it('the check of walks finds one that is too long, and a file that is missing, listed twice or out of reach', () => {
  const a = parseSource('a.ts', `import './b.js'`);
  const files = ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'a.ts'];
  const small = [a, parseSource('b.ts', ''), parseSource('c.ts', '')];
  expect(strayed({ of: 'a letter', atMost: 4, files }, small)).toEqual([
    '5 files for a letter',
    'c.ts is not reached',
    'd.ts does not exist',
    'a.ts stands twice',
  ]);
});
