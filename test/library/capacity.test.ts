import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { capacityDocumentSchema } from '../../src/capacity/document-schema.ts';
import { type CapacityEvent, type CapacityOptions, capacity } from '../../src/library/index.ts';
import { freshDirectory } from '../support/cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';

describe('capacity in the library', { timeout: 300_000 }, () => {
  it('finds what the command finds, with the same documents, and no command line', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile({ a: 10, b: 0.1, config: { max_batch_size: 1 } }) });
    const output = await freshDirectory();
    const events: CapacityEvent[] = [];
    const asked: CapacityOptions = { model: 'm', url: emulator.grpcUrl, latencyBudget: 60, output };
    const found = await capacity(
      { ...asked, precision: 30, maxDuration: 5, forRate: 1000 },
      { onEvent: (event) => events.push(event) },
    );
    expect(capacityDocumentSchema.safeParse(found).error).toBeUndefined();
    expect(JSON.parse(await readFile(join(output, 'capacity.json'), 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(found)),
    );
    expect(found).toMatchObject({ model: 'm', protocol: 'grpc', arrivals: 'poisson', commandLine: [] });
    expect(found.replicas?.perSecond).toBe(1000);
    expect(events.map(({ type }) => type)).toContain('tried');
  });

  it('says what is wrong before it asks anybody', async () => {
    await expect(capacity({ model: 'm', url: 'localhost:1' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(capacity({ model: '', latencyBudget: 5 })).rejects.toMatchObject({ code: 'USAGE' });
  });
});
