import { spawn } from 'node:child_process';

/**
 * A process between us and a server that we started: `node supervise FILE ARGS…`. It ends the server when our end of
 * its standard input closes, so that not even `kill -9` of tritune leaves one behind. Exits as the server did, and with it
 * end the processes that it leaves behind: those of Python models that were starting when it was killed wait forever, and
 * hold their memory of the GPU.
 */
const GRACE_MS = 8_000;

const [file, ...args] = process.argv.slice(2);
/** A process group of its own, for that. */
const server = spawn(file as string, args, { stdio: ['ignore', 'inherit', 'inherit'], detached: true });

let ending = false;
function end(): void {
  if (ending) return;
  ending = true;
  server.kill('SIGTERM');
  setTimeout(() => server.kill('SIGKILL'), GRACE_MS).unref();
}

process.stdin.on('end', end).on('error', end).resume();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);

server.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(127);
});
server.on('exit', (code, signal) => {
  try {
    process.kill(-(server.pid as number), 'SIGKILL');
  } catch {
    // It left none.
  }
  process.exit(code ?? (signal === null ? 1 : 128));
});
