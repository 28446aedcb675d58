// Relays the changes in the store to a NATS JetStream.
//   FARETRAIL_STORE_URL=postgresql://... NATS_URL=nats://localhost:4222 node dist/examples/outbox/main.js
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { Client } from 'pg';
import { relay } from './relay.js';

const { FARETRAIL_STORE_URL: connectionString, NATS_URL: servers = 'nats://localhost:4222' } = process.env;
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const database = new Client({ connectionString });
await database.connect();
const nats = await connect({ servers });
console.log('relaying changes');
await relay(database, jetstream(nats), stop.signal);
await nats.drain();
await database.end();
