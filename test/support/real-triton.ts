import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type LocalLaunch, launchLocal } from '#launch/local-server.ts';
import { defaultInstallDirectory, installTriton, type TritonInstall } from '#launch/triton-install.ts';
import type { LaunchedServer } from '#launch/types.ts';

const run = promisify(execFile);
const modelSources = resolve(import.meta.dirname, '../real/models');
/** Where the real Triton of this checkout is. */
export const installDirectory = resolve(import.meta.dirname, '../../.triton');

/** The real Triton of this checkout, fetched on first use. */
export function realTriton(): Promise<TritonInstall> {
  return installTriton({
    directory: installDirectory,
    packages: ['onnxruntime==1.20.1', 'onnx==1.17.0'],
    // biome-ignore lint/suspicious/noConsole: the download takes a while, and nobody should wonder
    onStep: (step) => console.log(`real Triton: ${step}`),
  });
}

/** Returns a folder for XDG_CACHE_HOME with that Triton as `install-triton` leaves it. */
export async function cacheWithTriton(): Promise<string> {
  const cache = await mkdtemp(join(tmpdir(), 'tritune-cache-'));
  await mkdir(join(cache, 'tritune'));
  await symlink(installDirectory, join(cache, 'tritune', basename(defaultInstallDirectory())));
  return cache;
}

/** A fresh model repository with the suite's models. */
export async function makeModelRepository(): Promise<string> {
  const { binDirectory } = await realTriton();
  const repository = await mkdtemp(join(tmpdir(), 'tritune-models-'));
  for (const entry of await readdir(modelSources, { withFileTypes: true })) {
    if (entry.isDirectory())
      await cp(join(modelSources, entry.name), join(repository, entry.name), { recursive: true });
  }
  await run(join(binDirectory, 'python'), [
    join(modelSources, 'make_mlp.py'),
    join(repository, 'mlp_onnx', '1', 'model.onnx'),
  ]);
  return repository;
}

/** A real server for tests, on free ports; the caller stops it. */
export async function startRealTriton(
  modelRepository: string,
  options: Partial<LocalLaunch> = {},
): Promise<LaunchedServer> {
  await realTriton();
  const logDirectory = await mkdtemp(join(tmpdir(), 'tritune-real-'));
  return launchLocal({ modelRepository, installDirectory, logDirectory, ...options });
}
