import { readFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Manifest } from './manifest.ts';
import { run } from './processes.ts';
import type { Size } from './subjects.ts';

/** The machine behind a run's figures; stored with them. */
export interface Machine {
  readonly archive: Manifest;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly load: readonly number[];
  /** The machine's own Python, which PyTorch is installed for; null without one. */
  readonly python: { readonly version: string; readonly executable: string; readonly packages: string } | null;
  readonly torch: { readonly version: string; readonly cuda: string | null; readonly gpu: string | null } | null;
  /** The output of nvidia-smi: name, driver, memory; null without it. */
  readonly gpus: string | null;
  readonly compiler: string | null;
  readonly sharedMemoryMib: number;
}

/**
 * The folder of packages is that of torch, where it is installed. The import also brings its files
 * into memory.
 */
const PROGRAM = `import json, os, shutil, sys, sysconfig
facts = {"version": "%d.%d" % sys.version_info[:2], "executable": sys.executable, "packages": sysconfig.get_path("purelib")}
facts["compiler"] = shutil.which("gcc") or shutil.which("cc")
size = os.statvfs("/dev/shm")
facts["sharedMemoryMib"] = size.f_bavail * size.f_frsize // 2**20
facts["torch"] = None
try:
    import torch
    facts["packages"] = os.path.dirname(os.path.dirname(torch.__file__))
    there = torch.cuda.is_available()
    facts["torch"] = {"version": torch.__version__, "cuda": torch.version.cuda, "gpu": torch.cuda.get_device_name(0) if there else None}
except ImportError:
    pass
print(json.dumps(facts))`;

export async function machineOf(work: string): Promise<Machine> {
  const archive = JSON.parse(await readFile(join(work, 'manifest.json'), 'utf8')) as Manifest;
  const facts = JSON.parse((await run('python3', ['-c', PROGRAM])).trim().split('\n').at(-1) as string) as NonNullable<
    Machine['python']
  > &
    Pick<Machine, 'torch' | 'compiler' | 'sharedMemoryMib'>;
  const { version, executable, packages, ...rest } = facts;
  return {
    archive,
    cpu: cpus()[0]?.model ?? '',
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    load: loadavg(),
    python: { version, executable, packages },
    ...rest,
    gpus: await run('nvidia-smi', ['--query-gpu=name,driver_version,memory.total', '--format=csv,noheader']).then(
      (text) => text.trim(),
      () => null,
    ),
  };
}

/** Returns the expected problems, each with its remedy on one line; empty if none is known. */
export function problemsOf({ archive, python, torch, gpus, compiler, sharedMemoryMib }: Machine, size: Size): string[] {
  const isFull = size === 'full';
  return [
    ...(isFull && python && python.version !== archive.python
      ? [
          `PyTorch's Python is ${python.version}, and the archive carries ${archive.python} and Triton's stub for it: ` +
            `pack again with --python python${python.version} (the wheel has stubs for 3.8 to 3.13, numpy 1 for up to 3.12)`,
        ]
      : []),
    ...(isFull && !torch ? ['python3 has no PyTorch: put the one that has it first on PATH'] : []),
    ...(isFull && torch && !torch.gpu ? ['PyTorch sees no GPU'] : []),
    ...(isFull && gpus === null ? ['there is no nvidia-smi: GPU figures come from Triton alone, if it has them'] : []),
    ...(isFull && !compiler ? ['there is no C compiler: candidates with torch.compile will not load'] : []),
    ...(sharedMemoryMib < 512
      ? [`/dev/shm has ${sharedMemoryMib} MiB left: the Python backend carries tensors in it`]
      : []),
  ];
}

/**
 * Returns the problem that prevents any run: the stub and PyTorch must use the same Python, and
 * there must be a GPU.
 */
export function stoppedBy(machine: Machine, size: Size): string | null {
  const { archive, python, torch } = machine;
  const isStopped = size === 'full' && (!torch?.gpu || python?.version !== archive.python);
  return isStopped ? (problemsOf(machine, size)[0] ?? null) : null;
}
