import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * What tests leave in the folder for temporary files goes when they have all run. There Node also
 * keeps what it compiled: every process that a test starts, and each of its children, takes half of
 * the CPU to start.
 */
export async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'tritune-tests-'));
  process.env.TMPDIR = folder;
  // The key that marks the user's runs.
  process.env.XDG_CONFIG_HOME = join(folder, 'config');
  process.env.XDG_STATE_HOME = join(folder, 'state');
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
  // A process that is about to end may still write there.
  return () => rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
