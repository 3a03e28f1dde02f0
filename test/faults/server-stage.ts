import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodeFor, exitCodes } from '#app/exit-codes.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import type { Disturbance } from '#emulator/faults.ts';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import { type Emulator, startEmulator } from '#emulator/start-emulator.ts';
import type { FailureStatus } from '#emulator/wire/protocol-failure.ts';
import { closingLines } from '#headless/closing.ts';
import { type TuneEvent, type TuneOptions, tune } from '#library/index.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { smallProfile } from '../support/emulator.ts';
import { isNightly } from '../support/fuzz.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { type SwitchedProxy, startSwitchedProxy } from '../support/switched-proxy.ts';

/**
 * What an execution of the original config takes, and of every other unless the arm says otherwise.
 */
const USUAL_MS = 4;
const SLOW = 2.5;
/** The way of the original config. */
export const USUAL = 'usual';
/**
 * Far more than any of these runs takes; the nightly ones wait for deadlines of half a minute,
 * several times.
 */
export const ENDS_WITHIN_MS = isNightly ? 400_000 : 150_000;
const RESTART_MS = 400;

/**
 * The model `m`, whose config says in `parameters.way` which of these candidates it is; `slow` ones
 * take longer.
 */
export function wayProfile(ways: readonly string[], faults: object = {}, server: object = {}): EmulatorProfile {
  const when = (way: string) => ({ 'parameters.way.string_value': way });
  return smallProfile({
    a: USUAL_MS,
    b: 1e-6,
    config: { parameters: { way: { string_value: USUAL } } },
    model: {
      arms: ways.filter((way) => way.startsWith('slow')).map((way) => ({ name: way, when: when(way), scale: SLOW })),
      faults,
    },
    profile: { faults: server },
  });
}

/** One run against a server with faults. */
export interface Play {
  /** The candidates, in their order. */
  readonly ways: readonly string[];
  /** Of the model, as a profile has them. */
  readonly faults?: object;
  /** Of the server, as a profile has them. */
  readonly serverFaults?: object;
  readonly protocol?: 'grpc' | 'http';
  /** Everything goes through a proxy that can be switched. */
  readonly proxied?: true;
  readonly options?: Partial<TuneOptions>;
  /**
   * What befalls a request to this candidate, counted from the beginning of its measurement; asked
   * for each.
   */
  readonly befalls?: (request: number, way: string) => Befalls | null;
  /** Whether a load of this candidate, counted by candidate, kills the server. */
  readonly kills?: (way: string, load: number) => boolean;
  /** After its death the server is started again, with nothing of what it was told. */
  readonly comesBack?: boolean;
  readonly onEvent?: (event: TuneEvent, stage: Stage) => void;
}

export type Befalls =
  | Disturbance
  | { readonly status: FailureStatus; readonly message: string }
  | { readonly delayMs: number };

export interface Stage {
  readonly emulator: Emulator;
  readonly proxy: SwitchedProxy | null;
  readonly ways: readonly string[];
}

export interface Played {
  /** As of the command. */
  readonly exitCode: number;
  readonly error: TrituneError | null;
  /** What a person reads last. */
  readonly lastLine: string;
  readonly records: readonly StudyRecord[];
  /** The config served at the end is the one from before; null when nothing answers. */
  readonly isOriginal: boolean | null;
}

/**
 * Runs the tuner as the command does, with its deadlines shortened, and tells how it ended and what
 * the server has.
 */
export async function playFaults(play: Play): Promise<Played> {
  const stage = await openStage(play);
  const original = await servedConfig(stage.emulator);
  const output = await freshDirectory();
  const { space, candidates } = await writeSpace(output, play.ways);
  const protocol = play.protocol ?? 'grpc';
  const url = stage.proxy?.url ?? (protocol === 'grpc' ? stage.emulator.grpcUrl : stage.emulator.httpUrl);
  let lastLine = '';
  const given: TuneOptions = {
    model: 'm',
    url,
    protocol,
    metricsUrl: stage.emulator.metricsUrl,
    output: join(output, 'run'),
    space,
    candidates,
    sampler: 'manual',
    concurrency: { low: 1, high: 1 },
    precision: 30,
    loadTimeout: 1.5,
    maxOutage: 2,
    ...play.options,
  };
  const onEvent = (event: TuneEvent): void => {
    stage.note(event);
    if (event.type === 'documents-written') lastLine = closingLines(event.summary, event.files).at(-1) ?? '';
    play.onEvent?.(event, stage);
  };
  try {
    const outcome = await inTime(tune(given, { onEvent })).then(
      (summary) => ({ error: null, exitCode: summary.feasible ? exitCodes.done : exitCodes.infeasible }),
      (thrown: unknown) => {
        if (!(thrown instanceof TrituneError)) throw thrown;
        return { error: thrown, exitCode: exitCodeFor(thrown.code) };
      },
    );
    const served = await servedConfig(stage.emulator);
    const isOriginal = served && original ? compareConfigs(original, served).length === 0 : null;
    return { ...outcome, lastLine, isOriginal, records: await recordsIn(join(output, 'run')) };
  } finally {
    await stage.close();
  }
}

async function openStage(play: Play) {
  const loads = new Map<string, number>();
  let [trial, requests] = [-1, 0];
  /** Of the call that is being asked about. */
  let fate: Befalls | null = null;
  const faults = {
    crashLoad: ({ config }: { readonly config: ModelConfig }): boolean => {
      const way = wayOf(config);
      loads.set(way, (loads.get(way) ?? 0) + 1);
      return play.kills?.(way, loads.get(way) as number) ?? false;
    },
    disturbInfer: (): Disturbance | null => {
      fate = trial < 0 ? null : (play.befalls?.(++requests, play.ways[trial - 1] ?? USUAL) ?? null);
      return typeof fate === 'string' ? fate : null;
    },
    failInfer: () => (fate !== null && typeof fate === 'object' && 'status' in fate ? fate : null),
    delayInferMs: () => (fate !== null && typeof fate === 'object' && 'delayMs' in fate ? fate.delayMs : 0),
  };
  const profile = wayProfile(play.ways, play.faults, play.serverFaults);
  const stage = {
    emulator: await startEmulator({ profile, faults }),
    proxy: null as SwitchedProxy | null,
    ways: play.ways,
    /** Keeps track of what is measured. */
    note: (event: TuneEvent): void => {
      if (event.type === 'measuring') [trial, requests] = [event.trial, 0];
      if (event.type === 'trial-finished') trial = -1;
    },
    close: async (): Promise<void> => {
      isOver = true;
      await stage.proxy?.close();
      await stage.emulator.close();
    },
  };
  let isOver = false;
  const { grpcUrl, httpUrl, metricsUrl } = stage.emulator;
  const portOf = (url: string): number => Number(new URL(url.includes('//') ? url : `http://${url}`).port);
  const ports = { grpcPort: portOf(grpcUrl), httpPort: portOf(httpUrl), metricsPort: portOf(metricsUrl) };
  const live = async (emulator: Emulator): Promise<void> => {
    await emulator.crashed;
    await sleep(RESTART_MS);
    if (isOver) return;
    stage.emulator = await startEmulator({ profile, faults, ...ports });
    void live(stage.emulator);
  };
  if (play.comesBack) void live(stage.emulator);
  if (play.proxied) stage.proxy = await startSwitchedProxy(play.protocol === 'http' ? httpUrl : grpcUrl);
  return stage;
}

export async function writeSpace(directory: string, ways: readonly string[]) {
  const [space, candidates] = [join(directory, 'ways.yaml'), join(directory, 'candidates.json')];
  const path = 'parameters.way.string_value';
  await writeFile(space, JSON.stringify({ name: 'ways', parameters: { way: { path, values: [USUAL, ...ways] } } }));
  await writeFile(candidates, JSON.stringify(ways.map((way) => ({ way }))));
  return { space, candidates };
}

/** null when nothing answers, or nothing is loaded. */
async function servedConfig({ grpcUrl }: Emulator): Promise<ModelConfig | null> {
  const client = connectGrpc(grpcUrl);
  try {
    return await client.modelConfig('m', { timeoutMs: 2000 });
  } catch {
    return null;
  } finally {
    await client.close();
  }
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const controller = new AbortController();
  const late = sleep(ENDS_WITHIN_MS, null, { signal: controller.signal }).then(() => {
    throw new Error(`the run did not end within ${ENDS_WITHIN_MS} ms`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    controller.abort();
  }
}

async function recordsIn(directory: string): Promise<StudyRecord[]> {
  const text = await readFile(join(directory, 'journal.jsonl'), 'utf8').catch((error: unknown) => {
    throw new Error(`the run left no journal: ${formatMessage(error)}`);
  });
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as StudyRecord);
}

const wayOf = ({ parameters }: ModelConfig): string =>
  (parameters as { readonly way?: { readonly string_value?: string } } | undefined)?.way?.string_value ?? '';
export const executionMsOf = (config: ModelConfig): number => USUAL_MS * (wayOf(config).startsWith('slow') ? SLOW : 1);
