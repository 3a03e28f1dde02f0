import { exitCodes } from '../../src/app/exit-codes.ts';
import { discardEmpty, safeName } from '../../src/app/run-directory.ts';
import { withStudyProtocol } from '../../src/app/server/find-protocol.ts';
import { checkNames } from '../../src/app/server/protect.ts';
import { warnIfInsecure } from '../../src/app/server/tls.ts';
import { onTarget } from '../../src/app/study/on-target.ts';
import { openStudy, resumeStudy, resumeTrust } from '../../src/app/study/open-study.ts';
import { resumedSpec } from '../../src/app/study/resumed-spec.ts';
import type { OpenStudy } from '../../src/app/study/study.ts';
import { realClock } from '../../src/base/clock.ts';
import { formatCommandLine } from '../../src/base/command-name.ts';
import { TrituneError } from '../../src/base/errors.ts';
import { listenForInterrupts } from '../../src/cli/interrupts.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { toSpec } from '../../src/spec/spec-of-options.ts';
import { StudyFold } from '../../src/study/records/fold.ts';
import type { TunerEvent } from '../../src/tuner/seams.ts';
import { tune } from '../../src/tuner/tune.ts';
import { dryRecording } from '../recording/dry-recording.ts';
import { type PlannedRecording, planRecording, recordingIn, toWindows } from '../recording/plan-recording.ts';
import { createRecordingLines } from '../recording/recording-lines.ts';
import { checkOverwritten, writeRecording } from '../recording/write-recording.ts';
import { type RecordFlags, toStudyOptions } from './record-options.ts';

/**
 * Runs `tritune-lab record`, from its options to its exit code. `named`: the options that the user
 * gave.
 */
export async function runRecord(
  recordFlags: RecordFlags,
  named: ReadonlySet<string>,
  terminal: Terminal,
): Promise<number> {
  const flags = await withStudyProtocol(recordFlags);
  if (flags.resume !== undefined)
    return record(() => resumedRecording(flags.resume ?? '', flags, named, terminal), terminal);
  if (flags.model === undefined) throw new TrituneError('USAGE', 'the model is missing', 'add -m MODEL');
  const spec = toSpec(toStudyOptions(flags, flags.output ?? `${safeName(flags.model)}-grid.json`));
  checkNames([spec.model], spec.server);
  if (flags.dryRun) {
    warnIfInsecure(spec.server, terminal);
    return dryRecording(spec, terminal);
  }
  const commandLine = process.argv.slice(2);
  return record(() => openStudy(spec, { commandLine }, realClock.wallMs()), terminal);
}

/** Errors: those of `resumeStudy`; USAGE for the directory of a study that is not a recording. */
async function resumedRecording(
  directory: string,
  flags: RecordFlags,
  named: ReadonlySet<string>,
  terminal: Terminal,
): Promise<OpenStudy> {
  const { concurrency: _, trustRun, ...options } = flags;
  const command = ['record', '--resume'];
  const advice = formatCommandLine([...command, directory, '--trust-run'], 'tritune-lab');
  const trust = { ...resumeTrust(options, trustRun, { ...terminal, advice }), command };
  const study = await resumeStudy(directory, (kept) => resumedSpec(kept, options, named), trust);
  if (study.spec.recording) return study;
  await study.journal.close();
  const what = `${directory} holds a run of tritune tune, not a recording`;
  throw new TrituneError('USAGE', what, 'give the directory of a recording, or use tritune tune --resume');
}

/** Opens the recording and its server, and measures. */
async function record(open: () => Promise<OpenStudy>, terminal: Terminal): Promise<number> {
  const study = await open();
  const { spec, directory } = study;
  warnIfInsecure(spec.server, terminal);
  const interrupts = listenForInterrupts(
    terminal.tell,
    () => `the model may be left changed; put it back with ${formatCommandLine(['restore', directory])}`,
  );
  const { signal } = interrupts;
  try {
    checkOverwritten(recordingIn(spec).grid);
    const exitCode = await recordStudy(study, terminal, signal);
    interrupts.check();
    return exitCode;
  } finally {
    terminal.status(null);
    interrupts.release();
    await study.journal.close();
    await discardEmpty(directory);
  }
}

/** Measures everything, restores the model, and writes the grid, also after an early end. */
function recordStudy(study: OpenStudy, terminal: Terminal, signal: AbortSignal): Promise<number> {
  const { spec, journal, directory } = study;
  const { tell } = terminal;
  return onTarget(study, { signal, tell, windows: toWindows(recordingIn(spec)) }, async (target, ending) => {
    const planned = planRecording(study, target);
    const { plan, sampler, samplerFor } = planned;
    const show = watch(study, planned, terminal);
    const onEvent = (event: TunerEvent): void => {
      ending.note(event);
      show(event);
    };
    const { adapter } = target;
    const parts = { adapter, sampler, samplerFor, journal, clock: realClock };
    const failure = await tune(plan, parts, onEvent, signal).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    const isComplete = await written(study, planned, terminal);
    if (failure) throw failure.error;
    if (isComplete) return exitCodes.done;
    tell(
      `tritune: points are missing; continue with ${formatCommandLine(['record', '--resume', directory], 'tritune-lab')}`,
    );
    return exitCodes.interrupted;
  });
}

/** Writes and announces the grid. Returns true if it has all of its points. */
async function written(study: OpenStudy, planned: PlannedRecording, terminal: Terminal): Promise<boolean> {
  const { isComplete, written: grid } = await writeRecording(study, planned);
  if (grid)
    terminal.print(`${grid.file}: ${grid.points} points of ${grid.candidates} candidates of ${study.spec.model}`);
  return isComplete;
}

/** Prints events, and how much is left by the sampler's own count. */
function watch(
  { earlier }: OpenStudy,
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
