import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { capacityDocumentSchema } from '#capacity/document-schema.ts';
import { type CapacityEvent, type CapacityOptions, capacity } from '#library/index.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory } from '../support/run-directory.ts';

describe('capacity in the library', { timeout: 300_000 }, () => {
  it('says what the command says, with the same documents, and no command line', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile({ a: 1, b: 0.1, config: { max_batch_size: 1 } }) });
    const output = await freshDirectory();
    const events: CapacityEvent[] = [];
    // No rate keeps a budget below the service time: the shortest search there is.
    const asked: CapacityOptions = { model: 'm', url: emulator.grpcUrl, latencyBudget: 0.5, output };
    const found = await capacity(asked, { onEvent: (event) => events.push(event) });
    expect(capacityDocumentSchema.safeParse(found).error).toBeUndefined();
    expect(JSON.parse(await readFile(join(output, 'capacity.json'), 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(found)),
    );
    expect(found).toMatchObject({ model: 'm', protocol: 'grpc', arrivals: 'poisson', commandLine: [] });
    expect(found).toMatchObject({ outcome: 'infeasible', capacity: null });
    expect(events.map(({ type }) => type)).toContain('tried');
  });

  it('says what is wrong before it asks anybody', async () => {
    await expect(capacity({ model: 'm', url: 'localhost:1' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(capacity({ model: '', latencyBudget: 5 })).rejects.toMatchObject({ code: 'USAGE' });
  });
});
