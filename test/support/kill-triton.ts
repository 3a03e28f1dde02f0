import { readdir, readFile, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Kills the tritonserver that listens on a gRPC port, as the system does when memory runs out, and
 * takes away what nobody else would: the processes of its Python backends, of which one that is
 * just starting stays for ever, and their shared memory. Errors: none of that port runs.
 */
export async function killTriton(grpcUrl: string): Promise<void> {
  const pid = await pidOf(`--grpc-port=${grpcUrl.slice(grpcUrl.lastIndexOf(':') + 1)}`);
  const stubs = await childrenOf(pid);
  const regions = (await Promise.all([pid, ...stubs].map(sharedMemoryOf))).flat();
  process.kill(pid, 'SIGKILL');
  while (await isThere(pid)) await sleep(20);
  for (const stub of stubs) if (await isStub(stub)) process.kill(stub, 'SIGKILL');
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

async function childrenOf(pid: number): Promise<readonly number[]> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(tasks.map((task) => textOf(`/proc/${pid}/task/${task}/children`)));
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
}

/** Still the same process, and not another one that was given its number. */
const isStub = async (pid: number): Promise<boolean> =>
  (await textOf(`/proc/${pid}/cmdline`)).includes('triton_python_backend_stub');

async function sharedMemoryOf(pid: number): Promise<readonly string[]> {
  const [maps, command] = [await textOf(`/proc/${pid}/maps`), await textOf(`/proc/${pid}/cmdline`)];
  const names = `${maps} ${command}`.match(/\btriton_python_backend_shm_region_[\w-]+/g) ?? [];
  return [...new Set(names)].map((name) => `/dev/shm/${name}`);
}

/** A zombie is not. */
const isThere = async (pid: number): Promise<boolean> => /^State:\s+[^ZX]/m.test(await textOf(`/proc/${pid}/status`));

const textOf = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
