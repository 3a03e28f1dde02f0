import { realClock } from '../base/clock.ts';
import { dryRun } from './dry-run.ts';
import { listenForInterrupts } from './interrupts.ts';
import { withAnalyzerFile } from './model-analyzer/apply.ts';
import { discardEmpty } from './output-directory.ts';
import { checkNames } from './protect.ts';
import { runSeries } from './run-series.ts';
import { openScreen, type Screen } from './screen.ts';
import { isSeries } from './series-directory.ts';
import { modelsIn, optionsFor, type SeriesOptions } from './series-options.ts';
import type { Terminal } from './terminal.ts';
import { warnIfInsecure } from './tls-options.ts';
import type { TuneOptions } from './tune-options.ts';
import { openRequest } from './tune-request.ts';
import { tuneOnItsServer } from './tune-study.ts';
import { exportConfig } from './write-documents.ts';

/** `tritune tune`, from its options to its exit code: a study, a series of them, or what they would be. `given`: the options that the user named. */
export async function runTune(
  asked: SeriesOptions,
  given: ReadonlySet<keyof TuneOptions>,
  terminal: Terminal,
): Promise<number> {
  const options = withAnalyzerFile(asked, given, terminal);
  const models = modelsIn(options);
  checkNames(models, options);
  if (options.dryRun) {
    warnIfInsecure(options, terminal);
    const [, ...others] = models;
    return dryRun([single(options), ...others.map((model) => optionsFor(options, model))], terminal);
  }
  const several = options.resume === undefined ? models.length > 1 : await isSeries(options.resume);
  return several ? runSeries(options, given, terminal) : runStudy(single(options), given, terminal);
}

const single = (options: SeriesOptions): TuneOptions => optionsFor(options, modelsIn(options)[0]);

/** One study: opens the output directory, the screen and the server, and tunes. */
async function runStudy(
  options: TuneOptions,
  given: ReadonlySet<keyof TuneOptions>,
  terminal: Terminal,
): Promise<number> {
  const request = await openRequest(options, given, realClock.wallMs());
  const interrupts = listenForInterrupts(
    (line) => (screen ?? terminal).tell(line),
    () => `the model may not be as it was: tritune restore ${request.directory}`,
  );
  let screen: Screen | null = null;
  try {
    screen = await openScreen(options.ui, terminal, {
      earlier: request.earlier,
      interrupt: () => interrupts.raise('asked to quit'),
      exportConfig: (trial) => exportConfig(request.directory, request.model, trial),
    });
    warnIfInsecure(request.options, screen);
    const exitCode = await tuneOnItsServer(request, interrupts.signal, screen);
    interrupts.check();
    await screen.untilLeft(interrupts.signal);
    return exitCode;
  } finally {
    screen?.close();
    try {
      await request.journal.close();
      await discardEmpty(request.directory);
    } finally {
      // Last of all: from here on a second signal would end the process with the signal's own code.
      interrupts.release();
    }
  }
}
