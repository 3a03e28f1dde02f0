import { holdModels } from '#adapter/triton/hold-model.ts';
import { throwIfInterrupted } from '#base/abort.ts';
import { type Clock, realClock } from '#base/clock.ts';
import { formatMessage, isTrituneError, TrituneError } from '#base/errors.ts';
import { MS_PER_S, nsToMs } from '#base/units.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { SeriesSummary } from '#study/summary/summary-schema.ts';
import { toExitCode } from '../exit-codes.ts';
import { afterRestoring } from '../restore-first.ts';
import { checkLeftovers } from '../server/leftover.ts';
import { checkControllable, type OpenServer, openServer, toServer } from '../server/open-server.ts';
import { checkProtected } from '../server/protect.ts';
import { warnIfInsecure } from '../server/tls.ts';
import { describeTriton } from '../target/triton/describe.ts';
import { inputsOfFronts } from '../target/triton/front-inputs.ts';
import { tritonOn } from '../target/triton/kind.ts';
import { leaveAsTheyWere, modelsNamedBy, readModels, type TritonModels } from '../target/triton/models.ts';
import type { OpenSeries, Turn } from './open-series.ts';
import { planStudy } from './plan-study.ts';
import { recordSeries, type TurnEnding } from './series-record.ts';
import { takeTurns } from './series-turns.ts';
import type { OpenStudy } from './study.ts';
import { tuneStudy } from './tune-study.ts';
import type { StudyWatch } from './watch.ts';

/**
 * `--time-budget` covers all runs of the whole series. When a turn begins, the time left is split
 * evenly among the models that have not had their turn. Returns the seconds for all runs of one
 * study together; undefined for no limit.
 */
export function timeShares(
  timeBudget: number | undefined,
  turns: readonly Pick<Turn, 'spentSeconds'>[],
  clock: Clock,
): { computeShare(turn: Pick<Turn, 'spentSeconds'>, modelsLeft: number): number | undefined } {
  const startNs = clock.nowNs();
  const before = turns.reduce((sum, { spentSeconds }) => sum + spentSeconds, 0);
  return {
    computeShare: (turn, modelsLeft) => {
      if (timeBudget === undefined) return undefined;
      const left = timeBudget - before - nsToMs(clock.nowNs() - startNs) / MS_PER_S;
      return turn.spentSeconds + Math.max(0, left) / modelsLeft;
    },
  };
}

/** A turn that tunes. */
export type OpenTurn = Turn & { readonly study: OpenStudy };

/** Callbacks of a series. */
export interface SeriesWatch {
  /** Called with messages for people before the first turn. */
  readonly tell: (line: string) => void;
  /** Called when a turn begins. Returns the callbacks of its study. */
  readonly onTurn: (turn: OpenTurn) => Promise<StudyWatch>;
  /** Called after a turn that no error ended. The next turn begins once it resolves. */
  readonly onTurnDone: (turn: OpenTurn, isLast: boolean) => Promise<void>;
  /** Called with the error that ended a turn. */
  readonly onTurnFailed: (turn: OpenTurn, error: unknown) => void;
  /** Called once, after the last turn, while the server is still open. */
  readonly onEnd: (summary: SeriesSummary) => void;
}

/**
 * Tunes the models of a series, one after another on one server, and writes `summary.json` after
 * each. An error ends the turn of its model only; an aborted signal ends the current turn in order,
 * and leaves out the later ones. Errors: those of a study that can be known before the first model
 * is changed, such as MODEL_UNKNOWN, with the name of the model; OUTPUT_UNWRITABLE.
 */
export async function tuneSeries(series: OpenSeries, watch: SeriesWatch, signal: AbortSignal): Promise<void> {
  const [first] = series.spec.studies as [StudySpec];
  const open = series.turns.flatMap((turn) => (turn.study ? [{ ...turn, study: turn.study }] : []));
  warnIfInsecure(first.server, watch);
  // A server of our own loads each model only for its turn, so that no other takes memory or time
  // from it.
  const laterModels = series.turns.flatMap(({ model, study }) => (study ? namesFor(model, study) : [model]));
  const opened = await openServer(toServer(first), { laterModels }, series.directory, signal);
  try {
    await checkControllable(opened.client);
    await checkModels(open, opened, watch.tell, signal);
    watch.onEnd(await tuneAll(series, open, opened, watch, signal));
  } finally {
    await opened.close();
  }
}

/** The models that a turn may change. Errors: SPACE_INVALID with the name of the turn's model. */
function namesFor(model: string, study: OpenStudy): readonly string[] {
  try {
    return modelsNamedBy(study).names;
  } catch (error) {
    throw toError(model, error);
  }
}

/** Returns the error with the name of its model. */
const toError = (model: string, error: unknown): unknown =>
  isTrituneError(error)
    ? new TrituneError(error.code, `model '${model}': ${error.message}`, error.hint, { cause: error })
    : error;

/**
 * Checks everything about each model that can be known before the first is changed. Errors: as its
 * study would have, with its name.
 */
async function checkModels(
  turns: readonly OpenTurn[],
  opened: OpenServer,
  tell: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { client, server } = opened;
  const forEach = async (check: (turn: OpenTurn) => Promise<void>): Promise<void> => {
    for (const turn of turns) {
      throwIfInterrupted(signal);
      await check(turn).catch((error: unknown) => {
        throw toError(turn.model, error);
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

async function tuneAll(
  series: OpenSeries,
  open: readonly OpenTurn[],
  opened: OpenServer,
  watch: SeriesWatch,
  signal: AbortSignal,
): Promise<SeriesSummary> {
  const { directory, turns } = series;
  const places = turns.map(({ model, name }) => ({ model, directory: name }));
  const time = timeShares(series.spec.timeBudgetSeconds, turns, realClock);
  const endings = new Map<string, TurnEnding>();
  let summary = await recordSeries(directory, places);
  const take = async (turn: OpenTurn, left: number): Promise<TurnEnding> => {
    const limits = { ...turn.study.spec.limits, timeBudgetSeconds: time.computeShare(turn, left) };
    const study = { ...turn.study, spec: { ...turn.study.spec, limits }, target: tritonOn(opened) };
    try {
      const outcome = await tuneStudy(study, signal, await watch.onTurn(turn));
      await watch.onTurnDone(turn, left === 1);
      return { exitCode: toExitCode(outcome), error: null };
    } catch (error) {
      watch.onTurnFailed(turn, error);
      const code = isTrituneError(error) ? error.code : 'INTERNAL';
      return { exitCode: toExitCode(code), error: { code, message: formatMessage(error) } };
    }
  };
  const taking = {
    take,
    answers: () => opened.client.live().catch(() => false),
    onEnd: async ({ model }: OpenTurn, ending: TurnEnding) => {
      summary = await recordSeries(directory, places, endings.set(model, ending));
    },
  };
  await takeTurns(open, taking, signal);
  return summary;
}
