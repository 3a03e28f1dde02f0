import { execFile } from 'node:child_process';
import { access, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TritonInstall } from '../../src/launch/triton-install.ts';

const run = promisify(execFile);
const REQUIREMENTS = ['openvino==2024.6.0', 'openvino-telemetry==2025.2.0'];

/** The folder with the OpenVINO package from PyPI for the Python of this Triton, beside its own packages; fetched on first use. */
export async function openvinoPackages(install: TritonInstall): Promise<string> {
  const folder = join(install.directory, 'peers', 'openvino');
  if (await isThere(folder)) return folder;
  const part = `${folder}.${process.pid}.part`;
  // numpy, its only other dependency, is there.
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--target', part];
  await run(join(install.binDirectory, 'python'), [...pip, ...REQUIREMENTS], { timeout: 600_000 });
  await rename(part, folder).catch(() => rm(part, { recursive: true }));
  return folder;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
