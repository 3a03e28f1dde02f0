import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';

/**
 * A process between us and a server that we started: `node supervise FILE ARGS…`. It ends the
 * server when our end of its standard input closes, so that not even `kill -9` of tritune leaves a
 * server behind. It exits as the server did, and ends the processes that the server leaves behind:
 * those of Python models that were starting when it was killed would wait forever and hold their
 * GPU memory. It also removes the memory that the server shared with them: Triton 2.51 leaves it in
 * /dev/shm if its time to exit runs out, as with a client that keeps a connection open.
 */
const GRACE_MS = 8_000;

const [file, ...args] = process.argv.slice(2);
/** Its own process group, so that the leftovers can be ended. */
const server = spawn(file as string, args, { stdio: ['ignore', 'inherit', 'inherit'], detached: true });

/**
 * The Python backend's shared memory with its models: one object per model, with a name that
 * nothing else uses.
 */
const REGION = /\/dev\/shm\/triton_python_backend_shm_region_[\w-]+/g;
let regions: readonly string[] = [];
function readRegions(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/maps`, 'utf8').match(REGION) ?? [];
  } catch {
    // There is no /proc here, or the server is gone.
    return [];
  }
}

let ending = false;
function end(): void {
  if (ending) return;
  ending = true;
  regions = readRegions(server.pid as number);
  server.kill('SIGTERM');
  setTimeout(() => server.kill('SIGKILL'), GRACE_MS).unref();
}

process.stdin.on('end', end).on('error', end).resume();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, end);

server.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(127);
});
server.on('exit', (code, signal) => {
  if (signal && !ending) process.stderr.write(`the server ended by itself, by ${signal}\n`);
  try {
    process.kill(-(server.pid as number), 'SIGKILL');
  } catch {
    // No processes were left.
  }
  for (const region of regions) rmSync(region, { force: true });
  process.exit(code ?? (signal === null ? 1 : 128));
});
