import { basename, join } from 'node:path';
import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { writeIn } from '#base/run-files.ts';
import { nsToMs } from '#base/units.ts';
import { EngineNotUp, type EngineServer, startEngine } from '#launch/engine-server.ts';
import { freePorts } from '#launch/free-ports.ts';
import { readSettings } from '#space/engine-candidate.ts';
import type { Candidate, EngineTraits } from '#space/types.ts';
import type { Applied, Control, Restored } from '#tuner/adapter.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import { type LaunchCommand, toStart } from './launch-command.ts';

export interface EngineControlOptions {
  readonly command: LaunchCommand;
  readonly traits: EngineTraits;
  /** The directory for a log of each start. */
  readonly logDirectory: string;
  readonly cpus: string | undefined;
  /** Time limit of one start. */
  readonly readyTimeoutMs: number;
}

/** A server that is started anew for each candidate. */
export interface EngineControl extends Control {
  /** Returns the running server. Errors: SERVER_UNREACHABLE if it has ended. */
  serving(): EngineServer;
  /** Ends the server. */
  stop(): Promise<void>;
}

/** Controls a server by ending and restarting it: each time on a free port, with its own log. */
export function controlEngine(options: EngineControlOptions): EngineControl {
  const { command, traits, logDirectory, cpus, readyTimeoutMs } = options;
  let server: EngineServer | null = null;
  let served: Candidate | null = null;
  let starts = 0;

  async function stop(): Promise<void> {
    const last = server;
    [server, served] = [null, null];
    await last?.stop();
  }

  async function start(candidate: Candidate, signal: AbortSignal): Promise<void> {
    starts += 1;
    const [port = 0] = await freePorts(1);
    const name = `start-${starts}`;
    const configFile = join(logDirectory, `${name}.json`);
    const how = toStart(command, readSettings(candidate) ?? {}, traits, { port: String(port), configFile });
    if (how.config !== null) await writeIn(logDirectory, [basename(configFile)], how.config);
    const { words, environment: env } = how;
    const logFile = join(logDirectory, `${name}.log`);
    server = await startEngine(
      { words, env, port, health: traits.health, logFile, cpus, readyTimeoutMs },
      signal,
    ).catch(asVerdict);
    served = candidate;
  }

  return {
    serving: () => {
      if (server && !server.hasEnded()) return server;
      throw new TrituneError('SERVER_UNREACHABLE', 'the server has exited', `see its log in ${logDirectory}`);
    },
    stop,
    apply: async (candidate, signal): Promise<Applied> => {
      signal.throwIfAborted();
      if (server && !server.hasEnded() && served?.fingerprint === candidate.fingerprint)
        return { candidate, change: 'none', loadMs: 0 };
      const startNs = realClock.nowNs();
      await stop();
      await start(candidate, signal);
      return { candidate, change: 'full', loadMs: nsToMs(realClock.nowNs() - startNs) };
    },
    changed: async () => (server && !server.hasEnded() ? null : 'the server has exited'),
    // It is started when needed.
    isReachable: async () => true,
    restore: async (): Promise<Restored> => {
      await stop();
      const detail = starts === 0 ? 'no server was started' : 'the server that was started for the run has ended';
      return { how: starts === 0 ? 'nothing-changed' : 'unload', verified: true, detail };
    },
  };
}

/** If a server does not come up with a candidate's settings, that is a verdict on them. */
function asVerdict(error: unknown): never {
  if (!(error instanceof EngineNotUp)) throw error;
  if (error.kind === 'too-slow')
    throw new TrituneError('SERVER_TIMEOUT', error.words, 'allow more time, for example --load-timeout 20m', {
      cause: error,
    });
  throw new CandidateRefusedError(error.kind, error.words, {
    message: `the server did not come up: ${error.words}`,
    hint: 'try the launch command by hand',
    cause: error,
  });
}
