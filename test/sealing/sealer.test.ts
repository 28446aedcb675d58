import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { base64url, CompactEncrypt, decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { createNamedKey, type KeyRing } from '../../src/sealing/key-ring.js';
import { createSealer } from '../../src/sealing/sealer.js';

const oldKey = createNamedKey('old', Buffer.alloc(32, 1));
const newKey = createNamedKey('new', Buffer.alloc(32, 2));
const sealer = createSealer([oldKey]);
const after = (...keys: KeyRing) => createSealer(keys);

const invalid = { name: 'SealingError', code: 'SEALED_TEXT_INVALID' };

describe('the sealer', () => {
  it('opens what it sealed, in the context it was sealed for', async () => {
    const contexts = fc.option(fc.string(), { nil: undefined });
    const opensIt = fc.asyncProperty(fc.string({ unit: 'grapheme' }), contexts, async (text, context) => {
      expect(await sealer.unseal(await sealer.seal(text, context), context)).toBe(text);
    });
    await fc.assert(opensIt);
  });

  it('makes a compact JWE whose header names the key and the context, nothing else, and another one each time', async () => {
    const sealed = await sealer.seal('token', 'token/partner/x/1');
    expect(sealed.split('.')).toHaveLength(5);
    expect(decodeProtectedHeader(sealed)).toEqual({ alg: 'dir', enc: 'A256GCM', kid: 'old', ctx: 'token/partner/x/1' });
    expect(await sealer.seal('token', 'token/partner/x/1')).not.toBe(sealed);
  });

  it.each([
    ['another context', 'lease-a', 'lease-b'],
    ['no context', 'lease-a', undefined],
    ['a context when it was sealed without', undefined, 'lease-a'],
  ])('does not open for %s', async (_, sealedFor, openedFor) => {
    await expect(sealer.unseal(await sealer.seal('token', sealedFor), openedFor)).rejects.toMatchObject(invalid);
  });

  it('does not open a text of which one character was changed', async () => {
    const sealed = await sealer.seal('token', 'lease');
    await fc.assert(
      fc.asyncProperty(fc.nat(sealed.length - 1), async (index) => {
        const changed = sealed[index] === 'A' ? 'B' : 'A';
        const altered = sealed.slice(0, index) + changed + sealed.slice(index + 1);
        const opened = await sealer.unseal(altered, 'lease').catch((error: { code: string }) => error.code);
        // The last character of a part holds spare bits, so that another spelling of the same bytes does open.
        if (opened !== 'token') expect(['SEALED_TEXT_INVALID', 'SEALING_KEY_UNKNOWN']).toContain(opened);
        else
          expect(base64url.decode(altered.split('.')[4] ?? '')).toEqual(base64url.decode(sealed.split('.')[4] ?? ''));
      }),
    );
  });

  it('opens no other text, nor one made with another algorithm under the same key', async () => {
    const foreign = await new CompactEncrypt(new TextEncoder().encode('token'))
      .setProtectedHeader({ alg: 'A256KW', enc: 'A256GCM', kid: 'old' })
      .encrypt(oldKey.key);
    for (const text of ['', 'token', 'a.b.c.d.e', `${base64url.encode('{"kid":7}')}....`, foreign])
      await expect(sealer.unseal(text), text).rejects.toMatchObject(invalid);
  });

  it('says nothing of the text or the key when it cannot open', async () => {
    const sealed = await sealer.seal('very-secret-token', 'lease');
    const error = await sealer.unseal(sealed, 'other').catch((refusal: Error) => refusal);
    expect(`${(error as Error).message}${JSON.stringify(error)}`).not.toMatch(/very-secret-token|lease/);
  });
});

describe('a ring of keys', () => {
  it('seals with its first key and opens with every one', async () => {
    const both = after(newKey, oldKey);
    expect(await both.unseal(await sealer.seal('token'))).toBe('token');
    expect(decodeProtectedHeader(await both.seal('token')).kid).toBe('new');
  });

  it('names the key that is missing, and calls a text under the right name and the wrong key invalid', async () => {
    const unknown = { code: 'SEALING_KEY_UNKNOWN', message: expect.stringContaining('"new"') };
    await expect(sealer.unseal(await after(newKey).seal('token'))).rejects.toMatchObject(unknown);
    const impostor = after(createNamedKey('old', Buffer.alloc(32, 3)));
    await expect(sealer.unseal(await impostor.seal('token'))).rejects.toMatchObject(invalid);
  });
});

describe('the keyed hash', () => {
  it('is 16 hex digits that depend on the first key alone, and stay the same from release to release', () => {
    for (const one of [sealer, after(oldKey, newKey)])
      expect(one.keyedHash('client', 'secret')).toBe('755f40767a971b3a'); // workflow ids hold it
    expect(after(newKey, oldKey).keyedHash('client', 'secret')).not.toBe('755f40767a971b3a');
  });

  it('differs when the same characters are parted differently', () => {
    expect(sealer.keyedHash('ab', 'c')).not.toBe(sealer.keyedHash('a', 'bc'));
  });
});
