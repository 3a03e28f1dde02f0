import { cp, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { TritonInstall } from '#launch/triton-install.ts';
import type { Machine } from './machine.ts';
import { run } from './processes.ts';
import { configOf, type Kind, type Size, type Subject } from './subjects.ts';

const models = join(import.meta.dirname, 'models');

/**
 * The unpacked archive, made ready to serve: the environment in which its tritune finds its Triton.
 */
export async function prepareServing(work: string, { archive, python, torch }: Machine): Promise<NodeJS.ProcessEnv> {
  const environment = join(work, 'venv');
  await makeEnvironment(work, environment, archive.python, torch && python ? python.packages : null);
  const cache = join(work, 'cache');
  await writeMarker(work, join(cache, 'tritune', `triton-${archive.triton}`), environment);
  return {
    ...process.env,
    PATH: [join(work, 'node/bin'), process.env.PATH].join(delimiter),
    XDG_CACHE_HOME: cache,
    // Compiled code of one instance, and of one candidate, serves the others.
    TORCHINDUCTOR_CACHE_DIR: join(cache, 'inductor'),
    TRITON_CACHE_DIR: join(cache, 'triton-kernels'),
  };
}

/**
 * A virtual environment over the carried Python, with numpy 1 before the machine's own packages.
 * Triton's stub, which embeds that Python, finds it by the `python3` that is first on PATH, and
 * takes nothing from PYTHONPATH. So no EXECUTION_ENV_PATH is needed, which would want an archive of
 * an environment with PyTorch in it.
 */
async function makeEnvironment(work: string, to: string, version: string, packages: string | null): Promise<void> {
  const site = join(to, 'lib', `python${version}`, 'site-packages');
  const home = join(work, 'python/bin');
  await rm(to, { recursive: true, force: true });
  await mkdir(site, { recursive: true });
  await mkdir(join(to, 'bin'));
  for (const name of ['python', 'python3', `python${version}`]) {
    await symlink(join(home, `python${version}`), join(to, 'bin', name));
  }
  await writeFile(
    join(to, 'pyvenv.cfg'),
    `home = ${home}\ninclude-system-site-packages = false\nversion = ${version}\n`,
  );
  for (const name of await readdir(join(work, 'numpy'))) await symlink(join(work, 'numpy', name), join(site, name));
  if (packages !== null) await writeFile(join(site, 'machine.pth'), `${packages}\n`);
}

const IMPORTS = `import sys, numpy
names = ["Python %d.%d.%d" % sys.version_info[:3], "numpy " + numpy.__version__]
try:
    import torch
    torch.zeros(1, device="cuda" if torch.cuda.is_available() else "cpu")
    names.append("torch " + torch.__version__)
except ImportError:
    pass
print(", ".join(names))`;

/**
 * What the models will import in the environment of `prepareServing`. Errors: as the interpreter
 * says.
 */
export async function triedImports(work: string): Promise<string> {
  // The library that the backend's stub loads, and as isolated as the stub is.
  const env = { ...process.env, LD_LIBRARY_PATH: join(work, 'python/lib') };
  return (await run(join(work, 'venv/bin/python3'), ['-I', '-c', IMPORTS], { env })).trim();
}

/** As `install-triton` leaves it behind, for `--launch local`. */
async function writeMarker(work: string, directory: string, environment: string): Promise<void> {
  const server = join(work, 'triton/pytriton/tritonserver');
  const install: TritonInstall = {
    directory,
    binary: join(server, 'bin/tritonserver'),
    backendDirectory: join(server, 'backends'),
    binDirectory: join(environment, 'bin'),
    libraryDirectory: join(work, 'python/lib'),
    packages: [],
  };
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'tritune-install.json'), JSON.stringify(install));
}

/** A model repository with the one model; gives its path. */
export async function makeRepository(work: string, subject: Subject, size: Size, kind: Kind): Promise<string> {
  const repository = join(work, `models-${subject.name}-${size}`);
  await rm(repository, { recursive: true, force: true });
  await cp(models, join(repository, subject.name, '1'), { recursive: true });
  await writeFile(join(repository, subject.name, 'config.pbtxt'), configOf(subject, size, kind));
  return repository;
}
