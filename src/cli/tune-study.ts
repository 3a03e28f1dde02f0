import type { WrittenRun } from '../report/write-run.ts';
import type { TritonClient } from '../triton/types.ts';
import { createTracing } from '../tuner/tracing.ts';
import { tune } from '../tuner/tune.ts';
import { exitCodes } from './exit-codes.ts';
import { checkControllable, type OpenServer, type OriginalModel, openServer, readOriginal } from './open-server.ts';
import { planStudy } from './plan-study.ts';
import { assumptionsOf, requestsOf } from './requests.ts';
import { assembleParts, controlOver } from './run-parts.ts';
import type { Screen } from './screen.ts';
import { traceReport } from './trace-report.ts';
import type { TuneRequest } from './tune-request.ts';
import { writeDocuments } from './write-documents.ts';

/** One model's study on a server of its own, or the one that the options name: connects, and tunes. As `tuneStudy`. */
export async function tuneOnItsServer(request: TuneRequest, signal: AbortSignal, screen: Screen): Promise<number> {
  const opened = await openServer(request.options, [request.model], request.directory, signal);
  try {
    await checkControllable(opened.client);
    return await tuneStudy(request, opened, screen, signal);
  } finally {
    await opened.close();
  }
}

/**
 * One model's study on an open server: plans, tunes, and writes the documents, also of a study that ends early. Gives the
 * exit code. Errors: what ended the study.
 */
export async function tuneStudy(
  request: TuneRequest,
  opened: OpenServer,
  screen: Screen,
  signal: AbortSignal,
): Promise<number> {
  const original = await readOriginal(opened.client, request.model);
  const { plan, parts, close } = await prepare(request, opened, original, screen).catch(async (error: unknown) => {
    await leaveAsItWas(opened.client, request.model, original);
    throw error;
  });
  const steered = { ...parts, ...(screen.steering && { steering: screen.steering }) };
  const failure = await tune(plan, steered, screen.onEvent, signal).then(
    async (state) => {
      for (const line of await traceReport(state)) screen.tell(line);
      return null;
    },
    (error: unknown) => ({ error }),
  );
  await close();
  const written: WrittenRun = await writeDocuments(request.directory).catch((error: unknown) => {
    throw failure ? failure.error : error;
  });
  screen.onEnd(written);
  if (failure) throw failure.error;
  if (signal.aborted) return exitCodes.interrupted;
  return written.summary.feasible ? exitCodes.done : exitCodes.infeasible;
}

async function prepare(request: TuneRequest, opened: OpenServer, original: OriginalModel, screen: Screen) {
  const planned = planStudy(request, opened.server, original);
  const inputs = await requestsOf(request.options, original);
  for (const line of assumptionsOf(inputs)) screen.tell(line);
  if (request.options.trace) await createTracing(opened.client).look();
  const { parts, close } = await assembleParts(request, planned, opened, inputs, screen.drawsFrames);
  return { plan: planned.plan, parts, close };
}

/** Unloads a model that only was loaded to look at it. Errors: RESTORE_FAILED. */
export async function leaveAsItWas(client: TritonClient, model: string, original: OriginalModel): Promise<void> {
  if (!original.wasLoaded) {
    await controlOver(client, model, { originalConfig: original.config, wasLoaded: false }, 'config').restore();
  }
}
