import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, inject, it } from 'vitest';
import { connectClient, connectNative } from '../../src/temporal/connection.js';
import { ensureSearchAttributes } from '../../src/temporal/search-attributes.js';

const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_CONFIG_FILE: '/nonexistent/temporal.toml' };

describe('the connection to Temporal', () => {
  it('gives a client that can ask for runs', async () => {
    const { client, connection, namespace } = await connectClient(env);
    expect(namespace).toBe('default');
    expect(await client.workflow.count()).toMatchObject({ count: expect.any(Number) });
    await connection.close();
  });

  it('gives a worker its connection, fit for the check of search attributes', async () => {
    const { connection, namespace } = await connectNative(env);
    await expect(ensureSearchAttributes(connection, namespace)).resolves.toMatchObject({ checkedBy: 'list' });
    await expect(ensureSearchAttributes(connection, 'no-such-namespace')).rejects.toMatchObject({
      code: 'NamespaceUnknown',
    });
    await connection.close();
  });

  it('says by its deadline that nothing answers, for a worker too', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const attempt = connectNative({ ...env, TEMPORAL_ADDRESS: address }, { withinMs: 300 });
    await expect(attempt).rejects.toMatchObject({ code: 'TemporalUnreachable' });
    silent.close();
  });

  it('says that nothing listens at the address', async () => {
    const nowhere = { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1' };
    await expect(connectNative(nowhere)).rejects.toMatchObject({
      code: 'TemporalUnreachable',
      message: expect.stringContaining('127.0.0.1:1 '),
    });
  });
});

describe('search attributes on a real server', () => {
  it('are registered once, then found, and then known to queries', async () => {
    const { client, connection, namespace } = await connectClient(env);
    await ensureSearchAttributes(connection, namespace);
    expect(await ensureSearchAttributes(connection, namespace)).toEqual({ registered: [], checkedBy: 'list' });
    expect(await client.workflow.count("RideAccount = 'nobody' AND RideAttention IS NULL")).toMatchObject({ count: 0 });
    await connection.close();
  });
});
