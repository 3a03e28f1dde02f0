import { access, chmod, copyFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { makeFolder } from '#base/make-folder.ts';
import { fileLimits, readText } from '#base/read-file.ts';

/**
 * Triton from PyPI: the wheel of nvidia-pytriton carries the tritonserver binary with the Python
 * backend, without GPU libraries (Linux x86-64). The version pair was checked by running it: 0.7.0
 * is Triton 2.51.0.
 */
const WHEEL = 'nvidia-pytriton==0.7.0';
export const TRITON_WHEEL_VERSION = '2.51.0';
/** The Python backend's stub of that release is built against numpy 1. */
const NUMPY = 'numpy<2';
const MARKER = 'tritune-install.json';

/** The location of a Triton from PyPI, and what its process needs to start. */
export interface TritonInstall {
  readonly directory: string;
  readonly binary: string;
  readonly backendDirectory: string;
  /** First on PATH, so that the backend's embedded interpreter finds its packages. */
  readonly binDirectory: string;
  /** On the loader's path: it holds libpython. */
  readonly libraryDirectory: string;
  readonly packages: readonly string[];
}

export interface InstallOptions {
  readonly directory?: string;
  readonly python?: string;
  /** Further PyPI requirements for the models to import. */
  readonly packages?: readonly string[];
  readonly onStep?: (step: string) => void;
  readonly signal?: AbortSignal;
}

/** Returns the per-user cache directory of the installation. */
export function defaultInstallDirectory(): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(cache, 'tritune', `triton-${TRITON_WHEEL_VERSION}`);
}

/** Returns the installation in the directory; null if there is none or it is incomplete. */
export async function findTriton(directory = defaultInstallDirectory()): Promise<TritonInstall | null> {
  try {
    const install = JSON.parse(await readText(join(directory, MARKER), fileLimits.document)) as TritonInstall;
    await Promise.all([access(install.binary), access(install.libraryDirectory)]);
    return install;
  } catch {
    return null;
  }
}

/**
 * Fetches Triton from PyPI into its own virtual environment; keeps a complete installation with the
 * same packages, and adds missing ones to it. If that fails, the installation stays as it was.
 * Errors: INSTALL_FAILED.
 */
export async function installTriton(options: InstallOptions = {}): Promise<TritonInstall> {
  const directory = options.directory ?? defaultInstallDirectory();
  const present = await findTriton(directory);
  const packages = [...new Set([...(present?.packages ?? []), ...(options.packages ?? [])])].sort();
  if (present && packages.length === present.packages.length) return present;

  checkMachine(process.platform, process.arch === 'x64' ? 'x86_64' : process.arch);
  const step = options.onStep ?? (() => undefined);
  const python = options.python ?? 'python3';
  const facts = await pythonFacts(python, options.signal);
  step(`making a virtual environment with Python ${facts.version} in ${directory}`);
  await makeFolder(directory);
  const environment = join(directory, 'venv');
  await run(python, ['-m', 'venv', environment], options.signal);
  const binDirectory = join(environment, 'bin');
  const pip = (requirements: readonly string[]) =>
    run(
      join(binDirectory, 'python'),
      ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...requirements],
      options.signal,
    );
  step(`fetching ${WHEEL}`);
  // Its Python dependencies are for a way of running it that we do not use.
  await pip(['--no-deps', WHEEL]);
  step(`fetching ${[NUMPY, ...packages].join(', ')}`);
  await pip([NUMPY, ...packages]);

  const server = join(environment, 'lib', `python${facts.version}`, 'site-packages', 'pytriton', 'tritonserver');
  const backendDirectory = join(server, 'backends');
  const stub = join(backendDirectory, 'python', 'triton_python_backend_stub');
  await placeStub(join(server, 'python_backend_stubs', facts.version, 'triton_python_backend_stub'), stub);
  const binary = join(server, 'bin', 'tritonserver');
  await chmod(binary, 0o755);
  const install = {
    directory,
    binary,
    backendDirectory,
    binDirectory,
    libraryDirectory: facts.libraryDirectory,
    packages,
  };
  await writeFile(join(directory, `${MARKER}.part`), JSON.stringify(install, null, 2));
  await rename(join(directory, `${MARKER}.part`), join(directory, MARKER));
  return install;
}

/** Puts the stub of this Python in its place, also while a server runs the one that is there. */
async function placeStub(ofVersion: string, stub: string): Promise<void> {
  const part = `${stub}.part`;
  try {
    await copyFile(ofVersion, part);
    await chmod(part, 0o755);
    await rename(part, stub);
  } catch (error) {
    throw failed(
      `the Python backend's stub cannot be put in its place: ${formatMessage(error)}`,
      'use --python with Python 3.8 to 3.13',
      error,
    );
  }
}

interface PythonFacts {
  readonly version: string;
  readonly libraryDirectory: string;
}

async function pythonFacts(python: string, signal?: AbortSignal): Promise<PythonFacts> {
  const program = [
    'import sys, sysconfig, json, platform',
    'print(json.dumps(["%d.%d" % sys.version_info[:2], sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"), platform.machine(), sys.platform]))',
  ].join('\n');
  const answer = JSON.parse(await run(python, ['-c', program], signal)) as [string, string, string, string, string];
  const [version, libraryDirectory, library, machine, platform] = answer;
  // Python may be one for another architecture.
  checkMachine(platform, machine);
  const shared = `libpython${version}.so.1.0`;
  await access(join(libraryDirectory, library?.endsWith('.so.1.0') ? library : shared)).catch(() => {
    throw failed(
      `${shared} is not in ${libraryDirectory}`,
      `install the shared library of Python ${version} (Debian: libpython${version}) or use --python`,
    );
  });
  return { version, libraryDirectory };
}

function checkMachine(platform: string, architecture: string): void {
  if (platform === 'linux' && architecture === 'x86_64') return;
  throw failed(
    `Triton's wheel is for Linux on x86-64, this is ${platform} on ${architecture}`,
    'use --launch docker or a server elsewhere (-u)',
  );
}

async function run(file: string, args: readonly string[], signal?: AbortSignal): Promise<string> {
  try {
    const outcome = await execa(file, args, { timeout: 600_000, ...(signal && { cancelSignal: signal }) });
    return outcome.stdout;
  } catch (error) {
    throw failed(
      `'${file} ${args.slice(0, 3).join(' ')} …' failed: ${formatMessage(error).split('\n').slice(-3).join(' | ')}`,
      'check that Python 3.8 to 3.13 with pip and venv is installed, and that PyPI can be reached',
      error,
    );
  }
}

function failed(message: string, hint: string, cause?: unknown): TrituneError {
  return new TrituneError('INSTALL_FAILED', message, hint, { cause });
}
