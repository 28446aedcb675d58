// The random numbers of a run: sdk-core derives a seed from the run id, and the SDK draws from it.

/** Johannes Baagøe's Alea (2010), which the SDK uses. Returns numbers from 0 to 1. */
export function alea(seed: readonly number[]): () => number {
  const mash = createMash();
  const blank = [32];
  const state = [mash(blank), mash(blank), mash(blank)] as [number, number, number];
  for (const at of [0, 1, 2] as const) {
    state[at] -= mash(seed);
    if (state[at] < 0) state[at] += 1;
  }
  let carry = 1;
  return () => {
    const next = 2_091_639 * state[0] + carry * 2 ** -32;
    carry = Math.trunc(next);
    state[0] = state[1];
    state[1] = state[2];
    state[2] = next - carry;
    return state[2];
  };
}

function createMash(): (data: readonly number[]) => number {
  let n = 0xefc8249d;
  return (data) => {
    for (const one of data) {
      n += one;
      let product = 0.02519603282416938 * n;
      n = product >>> 0;
      product = (product - n) * n;
      n = product >>> 0;
      n += (product - n) * 2 ** 32;
    }
    return (n >>> 0) * 2 ** -32;
  };
}

/** The seed of a run: SipHash-1-3 of the run id with zero keys, as in Rust's standard hasher. */
export function seedOfRun(runId: string): number[] {
  const hash = sipHash13([...Buffer.from(runId), 0xff]);
  return Array.from({ length: 8 }, (_, at) => Number((hash >> BigInt(56 - 8 * at)) & 0xffn));
}

const mask = (1n << 64n) - 1n;
const turned = (value: bigint, by: bigint): bigint => ((value << by) | (value >> (64n - by))) & mask;

function sipHash13(bytes: number[]): bigint {
  let [v0, v1, v2, v3] = [0x736f6d6570736575n, 0x646f72616e646f6dn, 0x6c7967656e657261n, 0x7465646279746573n];
  const round = (): void => {
    v0 = (v0 + v1) & mask;
    v1 = turned(v1, 13n) ^ v0;
    v0 = turned(v0, 32n);
    v2 = (v2 + v3) & mask;
    v3 = turned(v3, 16n) ^ v2;
    v0 = (v0 + v3) & mask;
    v3 = turned(v3, 21n) ^ v0;
    v2 = (v2 + v1) & mask;
    v1 = turned(v1, 17n) ^ v2;
    v2 = turned(v2, 32n);
  };
  const wordAt = (from: number): bigint =>
    bytes.slice(from, from + 8).reduce((word, byte, at) => word | (BigInt(byte) << BigInt(8 * at)), 0n);
  const whole = bytes.length - (bytes.length % 8);
  const words = Array.from({ length: whole / 8 }, (_, at) => wordAt(8 * at));
  for (const word of [...words, wordAt(whole) | (BigInt(bytes.length & 0xff) << 56n)]) {
    v3 ^= word;
    round();
    v0 ^= word;
  }
  v2 ^= 0xffn;
  for (let more = 0; more < 3; more += 1) round();
  return v0 ^ v1 ^ v2 ^ v3;
}
