import { expect, it } from 'vitest';
import type { Session } from '../../src/cli/command.js';
import { readParkedInput } from '../../src/cli/delivery/view.js';
import { toAccountName } from '../../src/domain/keys.js';
import { toDataConverter } from '../../src/sealing/data-converter.js';
import { createNamedKey, type KeyRing } from '../../src/sealing/key-ring.js';
import { createPayloadCodec } from '../../src/sealing/payload-codec.js';

const keys: KeyRing = [createNamedKey('p1', Buffer.alloc(32, 7))];
const key = { account: toAccountName('business'), deliveryId: '0f5b2a7c9d1e4f60a1b2c3d4e5f60718' };
const input = {
  ...key,
  eventType: 'status_changed',
  receivedAt: '2031-05-01T10:00:00.000Z',
  reason: 'noOrderId',
  sealed: 'sealed-text',
};

/** A run that was started with this payload, read by a command with these keys. */
async function read(encrypts: boolean, held: KeyRing | null) {
  const loadedDataConverter = toDataConverter({ keys: held, encrypts: false });
  const payloads = await createPayloadCodec({ keys, encrypts }, 'ourProcesses').encode([
    loadedDataConverter.payloadConverter.toPayload(input),
  ]);
  const events = [{ workflowExecutionStartedEventAttributes: { input: { payloads } } }];
  const handle = { fetchHistory: async () => ({ events }) };
  const client = { options: { loadedDataConverter }, workflow: { getHandle: () => handle } };
  const within: Session['within'] = (_ms, act) => act();
  return await readParkedInput({ client, within } as unknown as Session, key);
}

it.each([
  ['in clear', false],
  ['encrypted', true],
])('what a parked delivery was started with is read from its history, %s', async (_, encrypts) => {
  expect(await read(encrypts, keys)).toEqual(input);
});

it('a payload key that is missing is named', async () => {
  await expect(read(true, null)).rejects.toMatchObject({ code: 'PayloadKeyMissing' });
});
