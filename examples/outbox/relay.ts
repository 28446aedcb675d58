import type { JetStreamClient } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import type { ClientBase } from 'pg';

const stream = 'RIDES';
const subjects = 'rides.>';
const positionHeader = 'Faretrail-Position';
const mostAtOnce = 500;
/** A listener is woken by each change; this is for a notification that was lost with its connection. */
const lookAgainMs = 10_000;

interface Row {
  position: string;
  id: string;
  account: string;
  order_id: string;
}

/**
 * Publishes each change in the store once, in order, as `rides.<account>`. The stream itself says how far it has got, so the relay keeps nothing
 * and may be killed at any time. Two at once publish no change twice, since JetStream takes an id once within two minutes, but may change the order.
 */
export async function relay(database: ClientBase, jetstream: JetStreamClient, signal: AbortSignal): Promise<void> {
  const manager = await jetstream.jetstreamManager();
  await manager.streams.add({ name: stream, subjects: [subjects] });
  await database.query('listen faretrail_order_changes');
  let last = await manager.streams.getMessage(stream, { last_by_subj: subjects }).then(
    (message) => message?.header.get(positionHeader) || '0',
    () => '0', // the stream is empty
  );
  while (!signal.aborted) {
    const { rows } = await database.query<Row>(
      'select * from faretrail.order_changes where position > $1 order by position limit $2',
      [last, mostAtOnce],
    );
    for (const row of rows) {
      const about = headers();
      about.set(positionHeader, row.position);
      await jetstream.publish(`rides.${row.account}`, JSON.stringify(row), { msgID: row.id, headers: about });
      last = row.position;
    }
    if (rows.length < mostAtOnce) await woken(database, signal);
  }
}

function woken(database: ClientBase, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      database.off('notification', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, lookAgainMs);
    database.once('notification', done);
    signal.addEventListener('abort', done, { once: true });
  });
}
