import { modelLine } from '../headless/closing.ts';
import type { WrittenRun } from '../report/write-run.ts';
import type { ModelRestored } from '../study/records.ts';
import type { TritonClient } from '../triton/types.ts';
import { whileHeld } from '../tuner/hold-model.ts';
import type { TunerEvent } from '../tuner/seams.ts';
import { createTracing } from '../tuner/tracing.ts';
import { tune } from '../tuner/tune.ts';
import { checkResumed } from './check-own.ts';
import { exitCodes } from './exit-codes.ts';
import { lookFirst } from './first-requests.ts';
import { checkControllable, type OpenServer, type OriginalModel, openServer, readOriginal } from './open-server.ts';
import { planStudy } from './plan-study.ts';
import { checkParts, checkProtected } from './protect.ts';
import { assumptionsOf, requestsOf } from './requests.ts';
import { assembleParts, controlOver } from './run-parts.ts';
import type { Screen } from './screen.ts';
import { traceReport } from './trace-report.ts';
import type { TuneRequest } from './tune-request.ts';
import { writeDocuments } from './write-documents.ts';

/** One model's study on a server of its own, or the one that the options name: connects, and tunes. As `tuneStudy`. */
export async function tuneOnItsServer(request: TuneRequest, signal: AbortSignal, screen: Screen): Promise<number> {
  const opened = await openServer(request.options, { loadModels: [request.model] }, request.directory, signal);
  try {
    await checkControllable(opened.client);
    return await tuneStudy(request, opened, screen, signal);
  } finally {
    await opened.close();
  }
}

/**
 * One model's study on an open server: plans, tunes, and writes the documents, also of a study that ends early. Gives the
 * exit code. Errors: MODEL_LOCKED, USAGE for a protected model, what ended the study.
 */
export async function tuneStudy(
  request: TuneRequest,
  opened: OpenServer,
  screen: Screen,
  signal: AbortSignal,
): Promise<number> {
  return onItsModel(
    request,
    opened,
    (original) => prepare(request, opened, original, screen),
    (prepared, original) => tuneHeld(request, opened, screen, prepared, original, signal),
  );
}

/**
 * What a study does on its model, which it holds meanwhile: looks at it, prepares, works; a preparation that fails leaves
 * the model as it was. Errors: MODEL_LOCKED, USAGE for a protected model, RESTORE_FAILED for one that somebody has changed
 * since the study that is resumed, those of `readOriginal`, the preparation's and the work's own.
 */
export function onItsModel<P, T>(
  request: Pick<TuneRequest, 'model' | 'options' | 'earlier' | 'started'>,
  { client, server }: OpenServer,
  prepare: (original: OriginalModel) => Promise<P>,
  work: (prepared: P, original: OriginalModel) => Promise<T>,
): Promise<T> {
  return whileHeld(request.model, server, async () => {
    await checkProtected(client, request.model, request.options);
    await checkResumed(request, client);
    const original = await readOriginal(client, request.model);
    const prepared = await prepare(original).catch(async (error: unknown) => {
      await leaveAsItWas(client, request.model, original);
      throw error;
    });
    return work(prepared, original);
  });
}

async function tuneHeld(
  request: TuneRequest,
  opened: OpenServer,
  screen: Screen,
  { plan, parts, close }: Awaited<ReturnType<typeof prepare>>,
  original: OriginalModel,
  signal: AbortSignal,
): Promise<number> {
  const steered = { ...parts, ...(screen.steering && { steering: screen.steering }) };
  const fate = fateOfModel(screen.onEvent);
  const failure = await tune(plan, steered, fate.onEvent, signal).then(
    async (state) => {
      for (const line of await traceReport(state)) screen.tell(line);
      return null;
    },
    (error: unknown) => ({ error }),
  );
  await close();
  if (fate.restored === null) await leaveAsItWas(opened.client, request.model, original);
  const written: WrittenRun = await writeDocuments(request.directory, fate.restored).catch((error: unknown) => {
    if (fate.restored) screen.tell(modelLine(request.model, fate.restored));
    throw failure ? failure.error : error;
  });
  screen.onEnd(written);
  if (failure) throw failure.error;
  if (signal.aborted) return exitCodes.interrupted;
  return written.summary.feasible ? exitCodes.done : exitCodes.infeasible;
}

interface Fate {
  readonly onEvent: (event: TunerEvent) => void;
  /** How the run has left the model; null while it has not said so. */
  readonly restored: ModelRestored | null;
}

/** Hears how the run leaves the model on the way to who watches: the journal may be what the run has failed by. */
function fateOfModel(watch: (event: TunerEvent) => void): Fate {
  let restored: ModelRestored | null = null;
  return {
    onEvent: (event) => {
      if (event.type === 'model-restored') restored = event;
      watch(event);
    },
    get restored() {
      return restored;
    },
  };
}

async function prepare(request: TuneRequest, opened: OpenServer, original: OriginalModel, screen: Screen) {
  await checkParts(opened.client, request.model, original.config, request.options);
  const planned = planStudy(request, opened.server, original);
  const inputs = await requestsOf(request.options, original);
  for (const line of assumptionsOf(inputs)) screen.tell(line);
  if (request.options.trace) await createTracing(opened.client).look();
  // Without an aim nothing is sent.
  const usual = planned.usual?.((await lookFirst(request.options, opened, original, inputs)).seen);
  const { parts, close } = await assembleParts(request, planned, opened, inputs);
  return { plan: { ...planned.plan, ...(usual && { usual }) }, parts, close };
}

/** Unloads a model that only was loaded to look at it. Errors: RESTORE_FAILED. */
export async function leaveAsItWas(client: TritonClient, model: string, original: OriginalModel): Promise<void> {
  if (!original.wasLoaded) {
    await controlOver(client, model, { originalConfig: original.config, wasLoaded: false }, 'config').restore();
  }
}
