import { holdModels } from '../../../adapter/triton/hold-model.ts';
import { exportConfig } from '../../../app/output/documents.ts';
import { afterRestoring } from '../../../app/restore/restore-first.ts';
import type { OpenSeries, Turn } from '../../../app/series/open-series.ts';
import { type Ending, recordSeries } from '../../../app/series/record.ts';
import { timeShares } from '../../../app/series/time-shares.ts';
import { type TurnTaking, takeTurns } from '../../../app/series/turns.ts';
import { checkLeftovers } from '../../../app/server/leftover.ts';
import { checkControllable, type OpenServer, openServer, serverOf } from '../../../app/server/open-server.ts';
import { checkProtected } from '../../../app/server/protect.ts';
import { warnIfInsecure } from '../../../app/server/tls.ts';
import { planStudy } from '../../../app/study/plan-study.ts';
import type { OpenStudy } from '../../../app/study/study.ts';
import { tuneStudy } from '../../../app/study/tune-study.ts';
import { describeTriton } from '../../../app/target/triton/describe.ts';
import { tritonOn } from '../../../app/target/triton/kind.ts';
import { leaveAsTheyWere, modelsNamedBy, readModels, type TritonModels } from '../../../app/target/triton/models.ts';
import { inputsOfFronts } from '../../../app/target/triton/pipeline/front-inputs.ts';
import { throwIfInterrupted } from '../../../base/abort.ts';
import { realClock } from '../../../base/clock.ts';
import { commandLineOf } from '../../../base/command-name.ts';
import { isTrituneError, TrituneError } from '../../../base/errors.ts';
import type { StudySpec } from '../../../spec/study-spec.ts';
import { exitCodeOf, exitCodes, worstExitCode } from '../../exit-codes.ts';
import { failureOf } from '../../failure.ts';
import { type Interrupts, listenForInterrupts } from '../../interrupts.ts';
import type { Terminal } from '../../terminal.ts';
import { openScreen, printSeries, requireCanvas, type Screen } from './screen.ts';
import type { SeriesFlags } from './series-options.ts';

type Shown = Pick<SeriesFlags, 'ui' | 'verbose'>;

/** Tunes several models on one server, one after another. Returns the worst of their exit codes. */
export async function runSeries(open: () => Promise<OpenSeries>, shown: Shown, terminal: Terminal): Promise<number> {
  requireCanvas(shown.ui, terminal);
  const series = await open();
  const [first] = series.spec.studies as [StudySpec];
  const stage: Stage = { terminal, screen: null, ...shown };
  const interrupts = listenForInterrupts(
    (line) => (stage.screen ?? terminal).tell(line),
    () => `a model may be left changed; put it back with ${commandLineOf(['restore', series.directory])}`,
    'stopping the whole run, and putting the model back',
  );
  try {
    warnIfInsecure(first.server, terminal);
    // A server of our own loads each model only for its turn, so that no other takes memory or time from it.
    const laterModels = series.turns.flatMap(({ model, study }) => (study ? namesFor(model, study) : [model]));
    const opened = await openServer(serverOf(first), { laterModels }, series.directory, interrupts.signal);
    try {
      await checkControllable(opened.client);
      await checkModels(series, opened, terminal.tell, interrupts.signal);
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

/** The outputs of a run: the screen of the current model. */
interface Stage extends Shown {
  readonly terminal: Terminal;
  screen: Screen | null;
}

/** The models that a turn may change. Errors: SPACE_INVALID with the name of the turn's model. */
function namesFor(model: string, study: OpenStudy): readonly string[] {
  try {
    return modelsNamedBy(study).names;
  } catch (error) {
    throw errorOf(model, error);
  }
}

/** Returns the error with the name of its model. */
const errorOf = (model: string, error: unknown): unknown =>
  isTrituneError(error)
    ? new TrituneError(error.code, `model '${model}': ${error.message}`, error.hint, { cause: error })
    : error;

/** Checks everything about each model that can be known before the first is changed. Errors: as its study would have, with its name. */
async function checkModels(
  { turns }: OpenSeries,
  opened: OpenServer,
  tell: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { client, server } = opened;
  const open = turns.flatMap(({ model, study }) => (study ? [{ model, study }] : []));
  const forEach = async (check: (turn: (typeof open)[number]) => Promise<void>): Promise<void> => {
    for (const turn of open) {
      throwIfInterrupted(signal);
      await check(turn).catch((error: unknown) => {
        throw errorOf(turn.model, error);
      });
    }
  };
  await forEach(async ({ study }) => {
    for (const name of modelsNamedBy(study).names) await checkProtected(client, name, study.spec.server);
  });
  await forEach(async ({ study }) => {
    const models = await afterRestoring(study.spec.server, tell, () => readHeld(opened, study));
    planStudy(study, describeTriton(study, server, models));
    await inputsOfFronts(study.spec, models);
  });
}

/** Reads models. Loads those that are not loaded, and unloads them again. */
async function readHeld(opened: OpenServer, study: OpenStudy): Promise<TritonModels> {
  const { client, server } = opened;
  const named = modelsNamedBy(study);
  if (!study.started) await checkLeftovers(opened, named.names, study.directory);
  const letGo = await holdModels(named.names, server, study.directory);
  try {
    const models = await readModels(client, named);
    await leaveAsTheyWere(client, models);
    return models;
  } finally {
    // An earlier run of the study may have left them changed.
    letGo(study.started ? 'leave' : undefined);
  }
}

async function tuneAll(series: OpenSeries, opened: OpenServer, interrupts: Interrupts, stage: Stage): Promise<number> {
  const { directory, turns } = series;
  const places = turns.map(({ model, name }) => ({ model, directory: name }));
  const time = timeShares(series.spec.timeBudgetSeconds, turns, realClock);
  const endings = new Map<string, Ending>();
  let summary = await recordSeries(directory, places, exitCodeOf);
  const open = turns.flatMap((turn) => (turn.study ? [{ ...turn, study: turn.study }] : []));
  const taking: TurnTaking<OpenTurn> = {
    take: (turn, left) =>
      tuneTurn(turn, {
        opened,
        interrupts,
        stage,
        series,
        timeBudgetSeconds: time.shareOf(turn, left),
        isLast: left === 1,
      }),
    exitCodeOf,
    answers: () => opened.client.live().catch(() => false),
    onEnd: async ({ model }, ending) => {
      summary = await recordSeries(directory, places, exitCodeOf, endings.set(model, ending));
    },
  };
  await takeTurns(open, taking, interrupts.signal);
  printSeries(stage.ui, stage.terminal, summary, directory);
  return worstExitCode(summary.models.map(({ exitCode }) => exitCode ?? exitCodes.done));
}

type OpenTurn = Turn & { readonly study: OpenStudy };

interface TurnSetting {
  readonly opened: OpenServer;
  readonly interrupts: Interrupts;
  readonly stage: Stage;
  readonly series: OpenSeries;
  /** Seconds of all runs of this study together; undefined for no limit. */
  readonly timeBudgetSeconds: number | undefined;
  readonly isLast: boolean;
}

/** Runs one model's study on its own screen. Never throws: returns a failure as the outcome of the turn. */
async function tuneTurn(
  { model, directory, study }: OpenTurn,
  { opened, interrupts, stage, series, timeBudgetSeconds, isLast }: TurnSetting,
): Promise<Ending> {
  const { signal } = interrupts;
  try {
    stage.screen = await openScreen(stage.ui, stage.terminal, {
      earlier: study.earlier,
      interrupt: () => interrupts.raise('asked to quit'),
      exportConfig: (trial) => exportConfig(directory, model, trial),
      ofSeries: model,
    });
    const number = series.turns.findIndex((turn) => turn.model === model) + 1;
    stage.screen.tell(`model ${number} of ${series.turns.length}: ${model}`);
    const limits = { ...study.spec.limits, timeBudgetSeconds };
    const own = { ...study, spec: { ...study.spec, limits } };
    const outcome = await tuneStudy({ ...own, target: tritonOn(opened) }, signal, stage.screen);
    if (isLast) await stage.screen.untilLeft(signal);
    return { exitCode: exitCodeOf(outcome), error: null };
  } catch (error) {
    return failed(error, stage);
  } finally {
    stage.screen?.close();
    stage.screen = null;
  }
}

function failed(error: unknown, { screen, terminal, verbose }: Stage): Ending {
  const { line, exitCode } = failureOf(error, verbose);
  screen?.close();
  if (line !== null) terminal.tell(line);
  const code = isTrituneError(error) ? error.code : 'INTERNAL';
  const message = error instanceof Error ? error.message : String(error);
  return { exitCode, error: { code, message } };
}
