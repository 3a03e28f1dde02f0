import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readArrivals, readIntervals, readTimestamps } from '#loadgen/arrival-files.ts';

async function file(text: string): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'tritune-test-')), 'file');
  await writeFile(path, text);
  return path;
}

describe('files of times', () => {
  it('hold a number a line, beside comments and empty lines', async () => {
    expect(await readIntervals(await file('# us\n100\n\n 250.5 # more\n'))).toEqual([100e3, 250_500]);
    expect(await readArrivals(await file('0\r\n1.5\r\n'))).toEqual([0, 1.5e6]);
  });

  it('say which line is wrong', async () => {
    await expect(readIntervals(await file('1\nsoon\n'))).rejects.toThrow(/line 2 is not a number of microseconds/);
    await expect(readArrivals(await file('1\n-1\n'))).rejects.toThrow(/line 2/);
    await expect(readArrivals('/nowhere/at/all')).rejects.toThrow(/cannot be read/);
  });
});

describe('timestamps of a data file', () => {
  it('come in milliseconds, in a list or alone', async () => {
    const path = await file(
      JSON.stringify({
        data: [
          { timestamp: [0], A: [1] },
          { timestamp: 12.5, A: [1] },
        ],
      }),
    );
    expect(await readTimestamps(path)).toEqual([0, 12.5e6]);
  });

  it('are missed by name', async () => {
    await expect(readTimestamps(await file('{"data": [{"timestamp": [0]}, {"A": [1]}]}'))).rejects.toThrow(/step 1/);
    await expect(readTimestamps(await file('{"data": [[{"timestamp": [0]}]]}'))).rejects.toThrow(/step 0/);
    await expect(readTimestamps(await file('{"data": []}'))).rejects.toThrow(/no "data" with steps/);
    await expect(readTimestamps(await file('no json'))).rejects.toThrow(/cannot be read/);
  });
});
