import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What tests leave in the folder for temporary files goes when they have all run. */
export async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'tritune-tests-'));
  process.env.TMPDIR = folder;
  return () => rm(folder, { recursive: true, force: true });
}
