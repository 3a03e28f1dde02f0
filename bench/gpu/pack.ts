import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { BYTES_PER_MIB } from '#base/units.ts';
import { findTriton, TRITON_WHEEL_VERSION } from '#launch/triton-install.ts';
import { packNode, packNumpy, packPython, packTriton, packTritune } from './contents.ts';
import type { Manifest } from './manifest.ts';
import { run } from './processes.ts';

/**
 * One archive with all that `run.sh` needs on a machine without a network: Triton with its Python
 * backend, a Python with its library, numpy, Node and tritune as built.
 * `node bench/gpu/pack.ts --python /path/to/python3.12`.
 *
 * --python FILE     of the same minor version as the PyTorch there; it must have a shared library
 *                   (default: Triton's own)
 * --triton DIR      where `install-triton` put it (default: .triton, else the user's own)
 * --output FILE     *.tar.xz, or *.tar for one that is quick to make
 *                   (default: .gpu/tritune-gpu.tar.xz)
 */
const MAX_MIB = 64;
const XZ_TIMEOUT_MS = 3_600_000;
/** One window over everything: the same code is in many files. The filter is for x86 programs. */
const XZ_FILTERS = ['--x86', '--lzma2=preset=9e,dict=192MiB'];

const root = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    python: { type: 'string' },
    triton: { type: 'string' },
    output: { type: 'string', default: join(root, '.gpu/tritune-gpu.tar.xz') },
  },
});

const install =
  (await findTriton(values.triton ?? join(root, '.triton'))) ?? (values.triton ? null : await findTriton());
if (install === null)
  throw new Error('no Triton to pack: run `tritune install-triton` first, or say where with --triton');

const stage = await mkdtemp(join(tmpdir(), 'tritune-gpu-'));
try {
  const python = await packPython(values.python ?? join(install.binDirectory, 'python'), join(stage, 'python'));
  await packTriton(install, python.version, join(stage, 'triton'));
  await packNumpy(install, python, join(stage, 'numpy'));
  await packNode(process.execPath, join(stage, 'node'));
  await packTritune(root, join(stage, 'app'));
  const manifest: Manifest = { python: python.version, triton: TRITON_WHEEL_VERSION, node: process.version };
  await writeFile(join(stage, 'manifest.json'), JSON.stringify(manifest, null, 2));
  await archive(resolve(values.output));
} finally {
  await rm(stage, { recursive: true, force: true });
}

async function archive(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const tar = file.replace(/\.xz$/, '');
  await run('tar', ['--create', '--sort=name', '--owner=0', '--group=0', `--file=${tar}`, `--directory=${stage}`, '.']);
  if (tar !== file) await run('xz', ['--force', '--threads=1', ...XZ_FILTERS, tar], { timeoutMs: XZ_TIMEOUT_MS });
  const mib = (await stat(file)).size / BYTES_PER_MIB;
  console.log(`${file}: ${mib.toFixed(1)} MiB`);
  if (tar !== file && mib > MAX_MIB) throw new Error(`it is more than ${MAX_MIB} MiB, which is what can be carried`);
}
