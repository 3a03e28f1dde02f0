import { throwIfInterrupted } from '../base/abort.ts';
import { realClock } from '../base/clock.ts';
import { isTrituneError, TrituneError } from '../base/errors.ts';
import type { ServerIdentity } from '../study/records.ts';
import type { TritonClient } from '../triton/types.ts';
import { whileHeld } from '../tuner/hold-model.ts';
import { exitCodes, worstExitCode } from './exit-codes.ts';
import { failureOf } from './failure.ts';
import { type Interrupts, listenForInterrupts } from './interrupts.ts';
import { type OpenSeries, openSeries, type Turn } from './open-series.ts';
import { checkControllable, type OpenServer, type OriginalModel, openServer, readOriginal } from './open-server.ts';
import { planStudy } from './plan-study.ts';
import { checkProtected } from './protect.ts';
import { requestsOf } from './requests.ts';
import { openScreen, printSeries, requireCanvas, type Screen } from './screen.ts';
import type { SeriesOptions } from './series-options.ts';
import { type Ending, recordSeries } from './series-record.ts';
import { timeShares } from './series-time.ts';
import { type TurnTaking, takeTurns } from './series-turns.ts';
import type { Terminal } from './terminal.ts';
import { warnIfInsecure } from './tls-options.ts';
import type { TuneOptions } from './tune-options.ts';
import type { TuneRequest } from './tune-request.ts';
import { leaveAsItWas, tuneStudy } from './tune-study.ts';
import { exportConfig } from './write-documents.ts';

/** Several models on one server, one after another, each with a study of its own. Gives the exit code, the worst of theirs. */
export async function runSeries(
  options: SeriesOptions,
  given: ReadonlySet<keyof TuneOptions>,
  terminal: Terminal,
): Promise<number> {
  requireCanvas(options.ui, terminal);
  const series = await openSeries(options, given, realClock.wallMs());
  const stage: Stage = { terminal, screen: null };
  const interrupts = listenForInterrupts(
    (line) => (stage.screen ?? terminal).tell(line),
    () => `a model may not be as it was: tritune restore ${series.directory}`,
    'stopping the whole run and restoring the model',
  );
  try {
    warnIfInsecure(series.options, terminal);
    // A server of our own loads each model for its turn only, so that no other takes memory or time from it.
    const laterModels = series.turns.map(({ model }) => model);
    const opened = await openServer(series.options, { laterModels }, series.directory, interrupts.signal);
    try {
      await checkControllable(opened.client);
      await checkModels(series, opened, interrupts.signal);
      const exitCode = await tuneAll(series, opened, interrupts, stage);
      interrupts.check();
      return exitCode;
    } finally {
      await opened.close();
    }
  } finally {
    stage.screen?.close();
    try {
      await series.close();
    } finally {
      interrupts.release();
    }
  }
}

/** What the run is shown on: the screen of the model whose turn it is. */
interface Stage {
  readonly terminal: Terminal;
  screen: Screen | null;
}

/** Everything that can be known beforehand about each model, before the first is changed. Errors: as its study would have, with its name. */
async function checkModels({ turns }: OpenSeries, { client, server }: OpenServer, signal: AbortSignal): Promise<void> {
  const open = turns.flatMap(({ model, request }) => (request ? [{ model, request }] : []));
  const forEach = async (check: (turn: (typeof open)[number]) => Promise<void>): Promise<void> => {
    for (const turn of open) {
      throwIfInterrupted(signal);
      await check(turn).catch((error: unknown) => {
        if (!isTrituneError(error)) throw error;
        throw new TrituneError(error.code, `model '${turn.model}': ${error.message}`, error.hint, { cause: error });
      });
    }
  };
  await forEach(({ model, request }) => checkProtected(client, model, request.options));
  await forEach(async ({ model, request }) => {
    const original = await readHeld(client, model, server);
    planStudy(request, server, original);
    await requestsOf(request.options, original);
  });
}

/** Loads a model to read it only if it must, and leaves it as it was. */
function readHeld(client: TritonClient, model: string, server: ServerIdentity): Promise<OriginalModel> {
  return whileHeld(model, server, async () => {
    const original = await readOriginal(client, model);
    await leaveAsItWas(client, model, original);
    return original;
  });
}

async function tuneAll(series: OpenSeries, opened: OpenServer, interrupts: Interrupts, stage: Stage): Promise<number> {
  const { directory, turns } = series;
  const places = turns.map(({ model, name }) => ({ model, directory: name }));
  const time = timeShares(series.options.timeBudget, turns, realClock);
  const endings = new Map<string, Ending>();
  let summary = await recordSeries(directory, places);
  const open = turns.flatMap((turn) => (turn.request ? [{ ...turn, request: turn.request }] : []));
  const taking: TurnTaking<OpenTurn> = {
    take: (turn, left) =>
      tuneTurn(turn, { opened, interrupts, stage, series, timeBudget: time.shareOf(turn, left), isLast: left === 1 }),
    answers: () => opened.client.live().catch(() => false),
    onEnd: async ({ model }, ending) => {
      summary = await recordSeries(directory, places, endings.set(model, ending));
    },
  };
  await takeTurns(open, taking, interrupts.signal);
  printSeries(series.options.ui, stage.terminal, summary, directory);
  return worstExitCode(summary.models.map(({ exitCode }) => exitCode ?? exitCodes.done));
}

type OpenTurn = Turn & { readonly request: TuneRequest };

interface TurnSetting {
  readonly opened: OpenServer;
  readonly interrupts: Interrupts;
  readonly stage: Stage;
  readonly series: OpenSeries;
  /** Seconds of all runs of this study together; undefined for no limit. */
  readonly timeBudget: number | undefined;
  readonly isLast: boolean;
}

/** One model's study on a screen of its own. Never throws: what failed is how the turn ended. */
async function tuneTurn(
  { model, directory, request }: OpenTurn,
  { opened, interrupts, stage, series, timeBudget, isLast }: TurnSetting,
): Promise<Ending> {
  const { signal } = interrupts;
  try {
    stage.screen = await openScreen(request.options.ui, stage.terminal, {
      earlier: request.earlier,
      interrupt: () => interrupts.raise('asked to quit'),
      exportConfig: (trial) => exportConfig(directory, model, trial),
      ofSeries: model,
    });
    const number = series.turns.findIndex((turn) => turn.model === model) + 1;
    stage.screen.tell(`model ${number} of ${series.turns.length}: ${model}`);
    const own = { ...request, options: { ...request.options, timeBudget } };
    const exitCode = await tuneStudy(own, opened, stage.screen, signal);
    if (isLast) await stage.screen.untilLeft(signal);
    return { exitCode, error: null };
  } catch (error) {
    return failed(error, stage, series.options.verbose);
  } finally {
    stage.screen?.close();
    stage.screen = null;
  }
}

function failed(error: unknown, { screen, terminal }: Stage, verbose: boolean): Ending {
  const { line, exitCode } = failureOf(error, verbose);
  screen?.close();
  if (line !== null) terminal.tell(line);
  const code = isTrituneError(error) ? error.code : 'INTERNAL';
  const message = error instanceof Error ? error.message : String(error);
  return { exitCode, error: { code, message } };
}
