import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { findTriton, installTriton } from '#launch/triton-install.ts';
import { freshDirectory } from '../support/run-directory.ts';

/** A Python whose pip writes the wheel's files, and does not know the package `unknown`. */
const PYTHON = `#!/bin/sh
server="$(dirname "$0")/../lib/python3.11/site-packages/pytriton/tritonserver"
case "$*" in
  -c*) echo '["3.11", "'"$(dirname "$0")"'", "libpython3.11.so.1.0", "x86_64", "linux"]' ;;
  '-m venv '*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  *unknown*) echo 'no matching distribution' >&2; exit 1 ;;
  *nvidia-pytriton*)
    mkdir -p "$server/bin" "$server/backends/python" "$server/python_backend_stubs/3.11"
    touch "$server/bin/tritonserver"
    cp /bin/sleep "$server/python_backend_stubs/3.11/triton_python_backend_stub" ;;
esac
`;

let python: string;
let directory: string;
beforeEach(async () => {
  const folder = await freshDirectory();
  [python, directory] = [join(folder, 'python'), join(folder, 'triton')];
  await writeFile(python, PYTHON);
  await writeFile(join(folder, 'libpython3.11.so.1.0'), '');
  await chmod(python, 0o755);
});

const install = (...packages: string[]) => installTriton({ directory, python, packages });

describe('install-triton', () => {
  it('keeps an installation whose new package cannot be fetched', async () => {
    const before = await install('onnx');
    await expect(install('unknown')).rejects.toMatchObject({
      code: 'INSTALL_FAILED',
      message: expect.stringContaining('no matching distribution'),
    });
    expect(await findTriton(directory)).toEqual(before);
  });

  it('adds a package while a server runs the stub of the installation', async () => {
    const { backendDirectory } = await install('onnx');
    const stub = join(backendDirectory, 'python', 'triton_python_backend_stub');
    const running = spawn(stub, ['60']);
    await once(running, 'spawn');
    try {
      await expect(copyFile('/bin/true', stub)).rejects.toMatchObject({ code: 'ETXTBSY' });
      expect(await install('openvino')).toMatchObject({ packages: ['onnx', 'openvino'] });
      expect((await readFile(stub)).equals(await readFile('/bin/sleep'))).toBe(true);
    } finally {
      running.kill();
    }
  });
});
