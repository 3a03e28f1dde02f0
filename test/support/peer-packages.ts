import { join } from 'node:path';
import type { TritonInstall } from '#launch/triton-install.ts';
import { filledOnce, pipInstall } from './fetched-tool.ts';

/**
 * Returns a folder with packages from PyPI for the Python of this Triton, beside its own packages,
 * of which numpy is one; fetched on first use.
 */
export const pythonPackages = (
  install: TritonInstall,
  name: string,
  requirements: readonly string[],
): Promise<string> =>
  fetchedOnce(install, name, (folder) =>
    pipInstall(join(install.binDirectory, 'python'), folder, requirements, ['--no-deps']),
  );

/**
 * Returns a folder beside the real Triton, filled on first use: whole or not at all, also where two
 * processes ask for it.
 */
export const fetchedOnce = (
  { directory }: Pick<TritonInstall, 'directory'>,
  name: string,
  fill: (folder: string) => Promise<void>,
): Promise<string> => filledOnce(join(directory, 'peers', name), fill);
