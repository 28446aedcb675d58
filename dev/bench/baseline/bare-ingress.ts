// The floor: one route that keeps a body durably and says so. No path to check, no body to read, nowhere to forward to.
import fastify from 'fastify';
import { open } from 'lmdb';

const { BENCH_PORT = '0', BENCH_JOURNAL = '' } = process.env;

const journal = open<Buffer, number>({ path: BENCH_JOURNAL, encoding: 'binary', keyEncoding: 'uint32' });
const app = fastify({ bodyLimit: 262_144 });
let next = 0;

app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
app.get('/healthz', () => 'live');
app.post('/*', async (request, reply) => {
  next += 1;
  await journal.put(next, request.body as Buffer);
  await journal.flushed;
  return reply.code(202).send({ deliveryId: '0'.repeat(32) });
});

await app.listen({ port: Number(BENCH_PORT), host: '127.0.0.1' });
process.on('SIGTERM', () => process.exit(0));
