import { readEndSync } from '#base/read-file.ts';
import { MS_PER_S } from '#base/units.ts';
import { textWithin } from '#triton/wire/http.ts';
import { faultIn, type StartFault } from './engine-log.ts';
import { onCpus } from './server-process.ts';
import { NotLive, type Supervised, startSupervised, waitUntilLive } from './supervised.ts';

/** A language-model server to start. */
export interface EngineCommand {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The loopback port that its command makes it listen on. */
  readonly port: number;
  /** The path that answers with 200 once it serves; null if any answer shows that it does. */
  readonly health: string | null;
  readonly logFile: string;
  readonly cpus: string | undefined;
  readonly readyTimeoutMs: number;
}

/** A running server. */
export interface EngineServer extends Pick<Supervised, 'hasEnded' | 'stop'> {
  /** HOST:PORT */
  readonly address: string;
  readonly logFile: string;
}

/** A server that did not come up; `words` are from its log. */
export class EngineNotUp extends Error {
  readonly kind: StartFault | 'too-slow';
  readonly words: string;

  constructor(kind: EngineNotUp['kind'], words: string) {
    super(words);
    this.kind = kind;
    this.words = words;
  }
}

/**
 * A server does not answer for long while it loads weights and compiles kernels, and frequent
 * requests cost it time.
 */
const ASK_TIMEOUT_MS = 5 * MS_PER_S;
/** Far above a list of thousands of models. */
const MAX_ANSWER_BYTES = 2 ** 20;

/**
 * Starts a language-model server and waits until it is healthy. The server and everything that it
 * started end when we do. Errors: an EngineNotUp; INTERRUPTED.
 */
export async function startEngine(command: EngineCommand, signal: AbortSignal): Promise<EngineServer> {
  const { port, logFile, readyTimeoutMs } = command;
  const address = `127.0.0.1:${port}`;
  const words = [...onCpus(command.cpus), ...command.words];
  const { hasEnded, stop } = await startSupervised({ words, env: command.env, logFile });
  try {
    const isReady = async (): Promise<true | null> => ((await serves(address, command.health)) ? true : null);
    await waitUntilLive(isReady, hasEnded, { timeoutMs: readyTimeoutMs, signal });
    return { address, logFile, hasEnded, stop };
  } catch (error) {
    await stop();
    throw error instanceof NotLive ? notUp(command, error) : error;
  }
}

function notUp({ logFile, readyTimeoutMs }: EngineCommand, { message, isLate }: NotLive): EngineNotUp {
  if (isLate) {
    return new EngineNotUp('too-slow', `it was not healthy within ${readyTimeoutMs / MS_PER_S} s (log: ${logFile})`);
  }
  const { kind, words } = faultIn(readLog(logFile));
  return new EngineNotUp(kind, `${[message, words].filter(Boolean).join(': ')} (log: ${logFile})`);
}

/** A loading server may report that it is unavailable. */
async function serves(address: string, health: string | null): Promise<boolean> {
  if (health === null) return (await ask(`http://${address}/`)) !== null;
  const isHealthy = (await ask(`http://${address}${health}`))?.ok ?? false;
  return isHealthy && (await hasModels(`http://${address}/v1/models`));
}

/**
 * False if the server lists its models and has none yet: a frontend may be healthy before its
 * engine is there.
 */
async function hasModels(url: string): Promise<boolean> {
  const response = await ask(url);
  if (!response?.ok) return true;
  return !response.text.replaceAll(/\s/g, '').includes('"data":[]');
}

interface Answer {
  readonly ok: boolean;
  readonly text: string;
}

async function ask(url: string): Promise<Answer | null> {
  try {
    const headers = { connection: 'close' };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(ASK_TIMEOUT_MS) });
    return { ok: response.ok, text: response.body ? await textWithin(MAX_ANSWER_BYTES, response.body) : '' };
  } catch {
    return null;
  }
}

function readLog(file: string): string {
  try {
    return readEndSync(file);
  } catch {
    return '';
  }
}
