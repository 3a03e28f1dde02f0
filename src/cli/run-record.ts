import { realClock } from '../base/clock.ts';
import { TrituneError } from '../base/errors.ts';
import { createRecordingLines } from '../headless/recording-lines.ts';
import { StudyFold } from '../study/fold.ts';
import type { TunerEvent } from '../tuner/seams.ts';
import { tune } from '../tuner/tune.ts';
import { dryRecording } from './dry-recording.ts';
import { exitCodes } from './exit-codes.ts';
import { listenForInterrupts } from './interrupts.ts';
import { checkControllable, type OpenServer, type OriginalModel, openServer } from './open-server.ts';
import { discardEmpty, safeName } from './output-directory.ts';
import { EXHAUSTIVE, type PlannedRecording, planRecording, type RecordRequest } from './plan-recording.ts';
import { checkNames, checkParts } from './protect.ts';
import { type RecordOptions, type RecordStudyOptions, studyOptionsOf } from './record-options.ts';
import { assumptionsOf, requestsOf } from './requests.ts';
import { assembleParts } from './run-parts.ts';
import type { Terminal } from './terminal.ts';
import { warnIfInsecure } from './tls-options.ts';
import type { TuneOptions } from './tune-options.ts';
import { modelOf, openRequest } from './tune-request.ts';
import { onItsModel } from './tune-study.ts';
import { writeRecording } from './write-recording.ts';

/** `tritune record`, from its options to its exit code. `given`: the options that the user named. */
export async function runRecord(
  options: RecordOptions,
  given: ReadonlySet<keyof TuneOptions>,
  terminal: Terminal,
): Promise<number> {
  const grid = options.output ?? `${safeName(options.model ?? '')}-grid.json`;
  const study = studyOptionsOf(options, grid);
  if (options.resume === undefined) checkNames([modelOf(study)], options);
  warnIfInsecure(options, terminal);
  if (options.dryRun) return dryRecording(study, terminal);
  const request = await openRecording(study, given);
  const interrupts = listenForInterrupts(
    terminal.tell,
    () => `the model may not be as it was: tritune restore ${request.directory}`,
  );
  try {
    const opened = await openServer(
      request.options,
      { loadModels: [request.model] },
      request.directory,
      interrupts.signal,
    );
    try {
      await checkControllable(opened.client);
      const exitCode = await record(request, opened, terminal, interrupts.signal);
      interrupts.check();
      return exitCode;
    } finally {
      await opened.close();
    }
  } finally {
    terminal.status(null);
    interrupts.release();
    await request.journal.close();
    await discardEmpty(request.directory);
  }
}

/** Errors: those of `openRequest`; USAGE for the directory of a study that is no recording. */
async function openRecording(
  options: RecordStudyOptions,
  given: ReadonlySet<keyof TuneOptions>,
): Promise<RecordRequest> {
  const request = await openRequest(options, given, realClock.wallMs());
  if (request.started === null || request.started.sampler === EXHAUSTIVE) return request as RecordRequest;
  await request.journal.close();
  const what = `${request.directory} holds a run of tritune tune, no recording`;
  throw new TrituneError('USAGE', what, 'name a directory that tritune record made, or use tritune tune --resume');
}

/** Measures everything, puts the model back, and writes the grid, of a recording that ends early too. */
async function record(
  request: RecordRequest,
  opened: OpenServer,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  return onItsModel(
    request,
    opened,
    (original) => prepare(request, opened, original, terminal),
    (prepared) => recordHeld(request, terminal, prepared, signal),
  );
}

async function recordHeld(
  request: RecordRequest,
  terminal: Terminal,
  { planned, parts, close }: Awaited<ReturnType<typeof prepare>>,
  signal: AbortSignal,
): Promise<number> {
  const failure = await tune(planned.plan, parts, watch(request, planned, terminal), signal).then(
    () => null,
    (error: unknown) => ({ error }),
  );
  await close();
  const isComplete = await writeRecording(request, planned, terminal);
  if (failure) throw failure.error;
  if (isComplete) return exitCodes.done;
  terminal.tell(`tritune: points are missing; go on with tritune record --resume ${request.directory}`);
  return exitCodes.interrupted;
}

async function prepare(request: RecordRequest, opened: OpenServer, original: OriginalModel, terminal: Terminal) {
  await checkParts(opened.client, request.model, original.config, request.options);
  const planned = planRecording(request, opened.server, original);
  const inputs = await requestsOf(request.options, original);
  for (const line of assumptionsOf(inputs)) terminal.tell(line);
  const { parts, close } = await assembleParts(request, planned, opened, inputs);
  return { planned, parts, close };
}

/** Prints what happens, and how much is left by the sampler's own count. */
function watch(
  { earlier }: RecordRequest,
  { sampler }: PlannedRecording,
  { print, status }: Terminal,
): (event: TunerEvent) => void {
  const fold = new StudyFold();
  for (const record of earlier) fold.add(record);
  const show = createRecordingLines({ print, status, pointsLeft: () => sampler.left(fold.state()) });
  return (event) => {
    if ('at' in event) fold.add(event);
    show(event);
  };
}
