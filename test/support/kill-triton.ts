import { readdir, readFile, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Kills the tritonserver that listens on a gRPC port, as the system does when memory runs out, and takes away the shared
 * memory of its Python backends, which nobody else would. Errors: none of that port runs.
 */
export async function killTriton(grpcUrl: string): Promise<void> {
  const pid = await pidOf(`--grpc-port=${grpcUrl.slice(grpcUrl.lastIndexOf(':') + 1)}`);
  const regions = await sharedMemoryOf(pid);
  process.kill(pid, 'SIGKILL');
  while (await isThere(pid)) await sleep(20);
  for (const region of regions) await rm(region, { force: true });
}

async function pidOf(argument: string): Promise<number> {
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const [file = '', ...args] = (await textOf(`/proc/${entry}/cmdline`)).split('\0');
    if (file.endsWith('tritonserver') && args.includes(argument)) return Number(entry);
  }
  throw new Error(`no tritonserver with ${argument}`);
}

async function sharedMemoryOf(pid: number): Promise<readonly string[]> {
  const maps = await textOf(`/proc/${pid}/maps`);
  return [...new Set(maps.match(/\/dev\/shm\/triton_python_backend_[^\s]+/g) ?? [])];
}

/** A zombie is not. */
const isThere = async (pid: number): Promise<boolean> => /^State:\s+[^ZX]/m.test(await textOf(`/proc/${pid}/status`));

const textOf = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
