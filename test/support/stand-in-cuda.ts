import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import koffi, { type LibraryHandle } from 'koffi';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';

const source = resolve(import.meta.dirname, 'stand-in-cuda.c');
const LIBRARY = 'libcuda.so.1';

/**
 * Compiles the stand-in for NVIDIA's driver; gives the folder it is in, for LD_LIBRARY_PATH of
 * other processes. Needs a C compiler.
 */
export async function buildStandInCuda(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tritune-cuda-'));
  const flags = ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', `-Wl,-soname,${LIBRARY}`];
  await promisify(execFile)('cc', [...flags, '-o', join(folder, LIBRARY), source]);
  return folder;
}

/**
 * The same, for this process: a library that is loaded is found by its name from then on, by all
 * threads.
 */
export async function loadStandInCuda(): Promise<string> {
  const folder = await buildStandInCuda();
  loaded.push(koffi.load(join(folder, LIBRARY)));
  return folder;
}

/** Let go of, a library is unloaded. */
const loaded: LibraryHandle[] = [];

/** The profile on an emulated GPU, whatever it has. */
export const onGpu = (profile: EmulatorProfile): EmulatorProfile => ({
  ...profile,
  device: { name: 'GPU', kind: 'gpu', count: 1, memory_mib: 8192, power_w: { idle: 50, busy: 300 } },
});
