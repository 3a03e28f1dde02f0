import { exitCodes, toExitCode } from '#app/exit-codes.ts';
import { discardEmpty } from '#app/run-directory.ts';
import { exportConfig } from '#app/run-documents.ts';
import { listNotices } from '#app/run-effects.ts';
import { withStudyProtocol } from '#app/server/find-protocol.ts';
import { checkNames } from '#app/server/protect.ts';
import { warnIfInsecure } from '#app/server/tls.ts';
import { checkSeriesStudies, newSeries, resumeSeries } from '#app/study/open-series.ts';
import { openStudy, resumeStudy, resumeTrust } from '#app/study/open-study.ts';
import { isSeriesSpec, printSpec, type RequestedSpec, readSpec } from '#app/study/read-spec.ts';
import { checkResumable, resumedSpec } from '#app/study/resumed-spec.ts';
import { isSeries } from '#app/study/series-directory.ts';
import type { OpenStudy } from '#app/study/study.ts';
import { tuneStudy } from '#app/study/tune-study.ts';
import { closeTelemetry, openTelemetry, type Telemetry, withTelemetry } from '#app/telemetry.ts';
import { realClock } from '#base/clock.ts';
import { formatCommandLine } from '#base/command-name.ts';
import { TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { modelsIn } from '#spec/series-fields.ts';
import { optionsFor, toStudyOrSeries } from '#spec/series-options.ts';
import { changedSpec } from '#spec/spec-of-options.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { togetherOptions } from '#spec/together-options.ts';
import { listenForInterrupts } from '../../interrupts.ts';
import { withAnalyzerFile } from '../../model-analyzer/apply.ts';
import type { Terminal } from '../../terminal.ts';
import { dryRun } from './dry-run.ts';
import { dryRunOfEngine } from './dry-run-engine.ts';
import { runSeries } from './run-series.ts';
import { openScreen, type Screen } from './screen.ts';
import type { SeriesFlags } from './series-options.ts';

/** The options that the user gave. */
type Named = ReadonlySet<string>;

/**
 * Runs `tritune tune`, from its options to its exit code: a study, a series, or a dry run of
 * either.
 */
export async function runTune(seriesFlags: SeriesFlags, named: Named, terminal: Terminal): Promise<number> {
  const flags = seriesFlags.printSpec ? seriesFlags : await withStudyProtocol(seriesFlags);
  if (flags.resume !== undefined) return resume(flags.resume, flags, named, terminal);
  const spec = askedBy(withAnalyzerFile(flags, named, terminal), named);
  const studies = isSeriesSpec(spec) ? spec.studies : [spec];
  for (const { server, model } of studies) checkNames([model], server);
  checkOnePlan(studies, flags.dryRun);
  if (flags.printSpec) {
    terminal.print(printSpec(spec));
    return exitCodes.done;
  }
  if (flags.spec !== undefined) announce(flags.spec, studies, named, terminal);
  if (flags.dryRun)
    return !isSeriesSpec(spec) && spec.server.launchCommand !== undefined
      ? dryRunOfEngine(spec, terminal)
      : dryRun(spec, terminal);
  const fleet = flags.temporal ?? flags.fleet;
  if (fleet !== undefined) {
    if (isSeriesSpec(spec))
      throw new TrituneError(
        'USAGE',
        '--temporal runs one study at a time',
        'start a study for each model, or use --together',
      );
    const { runOnFleet } = await import('./run-fleet.ts');
    return runOnFleet(spec, fleet, flags, terminal);
  }
  const commandLine = process.argv.slice(2);
  const wallMs = realClock.wallMs();
  return isSeriesSpec(spec)
    ? runSeries(() => newSeries(spec, commandLine, wallMs), flags, terminal)
    : runStudy(() => openStudy(spec, { commandLine }, wallMs), flags, terminal);
}

/** A file with a study may be from anybody. */
function announce(file: string, studies: readonly StudySpec[], named: Named, { tell }: Terminal): void {
  const notices = new Set(studies.flatMap((study) => listNotices(study, named)));
  for (const notice of notices) tell(plainLine(`${file} ${notice}`));
}

/**
 * Errors: USAGE for several studies with an adapter or a launch command among them, and for a dry
 * run with an adapter.
 */
function checkOnePlan(studies: readonly StudySpec[], isDryRun: boolean): void {
  const byAdapter = studies.some(({ adapter }) => adapter !== undefined);
  if (isDryRun && byAdapter)
    throw new TrituneError(
      'USAGE',
      '--dry-run cannot be used with --adapter, which may change its server when it is opened',
      'leave out --dry-run',
    );
  checkSeriesStudies(studies);
}

/**
 * Returns the study or the series in the options, which override a file. Errors: USAGE,
 * INPUT_INVALID.
 */
function askedBy(flags: SeriesFlags, named: Named): RequestedSpec {
  if (flags.spec === undefined) return toStudyOrSeries(flags);
  const spec = readSpec(flags.spec);
  if (flags.together && !isSeriesSpec(spec))
    return changedSpec(spec, togetherOptions(flags), [...named, 'model', 'modelRequests', 'modelBudgets']);
  const models = modelsIn(flags);
  if (!isSeriesSpec(spec)) {
    const [model = spec.model, ...others] = models;
    if (others.length === 0) return changedSpec(spec, optionsFor({ ...flags, model: [model] }, model), named);
  } else if (models.length === 0) {
    const { timeBudget = spec.timeBudgetSeconds, output = spec.output, ...others } = flags;
    const change = (study: StudySpec): StudySpec =>
      changedSpec(study, optionsFor({ ...others, model: [study.model] }, study.model), named);
    return { ...spec, timeBudgetSeconds: timeBudget, output, studies: spec.studies.map(change) };
  }
  throw new TrituneError('USAGE', `${flags.spec} already names the models`, 'leave out -m');
}

/** Continues the study, or the series, in a directory. */
async function resume(directory: string, flags: SeriesFlags, named: Named, terminal: Terminal): Promise<number> {
  checkResumable(named);
  const options = optionsFor({ ...flags, model: undefined }, undefined);
  const trust = resumeTrust(options, flags.trustRun, terminal);
  if (!(await isSeries(directory))) {
    return runStudy(() => resumeStudy(directory, (kept) => resumedSpec(kept, options, named), trust), flags, terminal);
  }
  const ofStudies = [...named].filter((name) => name !== 'timeBudget');
  const change = (kept: StudySpec): StudySpec => resumedSpec(kept, options, ofStudies);
  return runSeries(() => resumeSeries(directory, change, trust, flags.timeBudget, realClock.wallMs()), flags, terminal);
}

/** Runs one study: opens the output directory, the screen and the server, and tunes. */
async function runStudy(
  open: () => Promise<OpenStudy>,
  { ui, otlp }: Pick<SeriesFlags, 'ui' | 'otlp'>,
  terminal: Terminal,
): Promise<number> {
  const study = await open();
  const { directory, spec } = study;
  const interrupts = listenForInterrupts(
    (line) => (screen ?? terminal).tell(line),
    () => `the model may be left changed; put it back with ${formatCommandLine(['restore', directory])}`,
  );
  let screen: Screen | null = null;
  let telemetry: Telemetry | null = null;
  try {
    telemetry = await openTelemetry(otlp, { command: 'tune', model: spec.model });
    screen = await openScreen(ui, terminal, {
      earlier: study.earlier,
      interrupt: () => interrupts.raise('asked to quit'),
      exportConfig: (trial) => exportConfig(directory, spec.model, trial),
    });
    warnIfInsecure(spec.server, screen);
    const outcome = await tuneStudy(study, interrupts.signal, withTelemetry(screen, telemetry));
    interrupts.check();
    await screen.untilLeft(interrupts.signal);
    return toExitCode(outcome);
  } finally {
    screen?.close();
    await closeTelemetry(telemetry, terminal.tell);
    try {
      await study.journal.close();
      await discardEmpty(directory);
    } finally {
      // Must come last: from here on, a second signal ends the process with the signal's own code.
      interrupts.release();
    }
  }
}
