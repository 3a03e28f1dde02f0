import { describe, expect, it } from 'vitest';
import { fleetCodec } from '#fleet/temporal/codec.ts';

const key = Buffer.alloc(32, 1);
const payload = {
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from(JSON.stringify({ secret: 'max_batch_size'.repeat(40) })),
};

describe('the payload codec', () => {
  it('gives back what it was given, with a key and without', async () => {
    for (const codec of [fleetCodec(key), fleetCodec(null)]) {
      const [encoded] = await codec.encode([payload]);
      const [decoded] = await codec.decode([encoded as typeof payload]);
      expect(Buffer.from(decoded?.data ?? []).toString()).toBe(payload.data.toString());
      expect(Buffer.from(decoded?.metadata?.encoding ?? []).toString()).toBe('json/plain');
    }
  });

  it('takes a payload without data, for which the SDK has an empty array', async () => {
    const empty = { metadata: { encoding: Buffer.from('binary/null') }, data: [] as unknown as Uint8Array };
    const [encoded] = await fleetCodec(key).encode([empty]);
    const [decoded] = await fleetCodec(key).decode([encoded as typeof payload]);
    expect(decoded?.data?.length).toBe(0);
  });

  it('shows nothing of what it encrypts, and never the same twice', async () => {
    const codec = fleetCodec(key);
    const [first, second] = await codec.encode([payload, payload]);
    expect(Buffer.from(first?.data ?? []).toString('latin1')).not.toContain('max_batch_size');
    expect(Buffer.from(first?.data ?? []).equals(Buffer.from(second?.data ?? []))).toBe(false);
  });

  it('refuses what was changed, is of another key, or is not encrypted', async () => {
    const codec = fleetCodec(key);
    const [encoded] = await codec.encode([payload]);
    const data = Buffer.from(encoded?.data ?? []);
    data.writeUInt8(data.readUInt8(20) ^ 1, 20);
    await expect(codec.decode([{ ...encoded, data }])).rejects.toThrow('another key, or was changed');
    await expect(fleetCodec(Buffer.alloc(32, 2)).decode([encoded ?? {}])).rejects.toThrow('another key');
    await expect(fleetCodec(null).decode([encoded ?? {}])).rejects.toThrow('give the key');
    await expect(codec.decode([payload])).rejects.toThrow('not encrypted');
    const [open] = await fleetCodec(null).encode([payload]);
    await expect(codec.decode([open ?? {}])).rejects.toThrow('not encrypted');
  });

  it('wants a key of 32 bytes', () => {
    expect(() => fleetCodec(Buffer.alloc(16))).toThrow('16 bytes instead of 32');
  });
});
