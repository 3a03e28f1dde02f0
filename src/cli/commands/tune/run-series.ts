import { exitCodes, worstExitCode } from '#app/exit-codes.ts';
import { exportConfig } from '#app/run-documents.ts';
import type { OpenSeries } from '#app/study/open-series.ts';
import { type SeriesWatch, tuneSeries } from '#app/study/tune-series.ts';
import { closeTelemetry, openTelemetry, type Telemetry, withTelemetry } from '#app/telemetry.ts';
import { formatCommandLine } from '#base/command-name.ts';
import type { SeriesEntry } from '#study/summary/summary-schema.ts';
import { toFailure } from '../../failure.ts';
import { listenForInterrupts } from '../../interrupts.ts';
import type { Terminal } from '../../terminal.ts';
import { openScreen, printSeries, requireCanvas, type Screen } from './screen.ts';
import type { SeriesFlags } from './series-options.ts';

type Shown = Pick<SeriesFlags, 'ui' | 'verbose' | 'otlp'>;

/**
 * Tunes several models on one server, one after another, each on its own screen. Returns the worst
 * of their exit codes.
 */
export async function runSeries(
  open: () => Promise<OpenSeries>,
  { ui, verbose, otlp }: Shown,
  terminal: Terminal,
): Promise<number> {
  requireCanvas(ui, terminal);
  const series = await open();
  const { directory, turns } = series;
  let screen: Screen | null = null;
  let telemetry: Telemetry | null = null;
  let models: readonly SeriesEntry[] = [];
  const interrupts = listenForInterrupts(
    (line) => (screen ?? terminal).tell(line),
    () => `a model may be left changed; put it back with ${formatCommandLine(['restore', directory])}`,
    'stopping the whole run, and putting the model back',
  );
  const closeScreen = (): void => {
    screen?.close();
    screen = null;
  };
  // Also after a turn that failed.
  const endTelemetry = async (): Promise<void> => {
    const ended = telemetry;
    telemetry = null;
    await closeTelemetry(ended, (screen ?? terminal).tell);
  };
  const watch: SeriesWatch = {
    tell: terminal.tell,
    onTurn: async ({ model, directory: folder, study }) => {
      const opened = await openScreen(ui, terminal, {
        earlier: study.earlier,
        interrupt: () => interrupts.raise('asked to quit'),
        exportConfig: (trial) => exportConfig(folder, model, trial),
        ofSeries: model,
      });
      screen = opened;
      const number = turns.findIndex((turn) => turn.model === model) + 1;
      opened.tell(`model ${number} of ${turns.length}: ${model}`);
      await endTelemetry();
      telemetry = await openTelemetry(otlp, { command: 'tune', model });
      return withTelemetry(opened, telemetry);
    },
    onTurnDone: async (_, isLast) => {
      await endTelemetry();
      if (isLast) await screen?.untilLeft(interrupts.signal);
      closeScreen();
    },
    onTurnFailed: (_, error) => {
      const { line } = toFailure(error, verbose);
      closeScreen();
      if (line !== null) terminal.tell(line);
    },
    onEnd: (summary) => {
      ({ models } = summary);
      printSeries(ui, terminal, summary, directory);
    },
  };
  try {
    await tuneSeries(series, watch, interrupts.signal);
    interrupts.check();
    return worstExitCode(models.map(({ exitCode }) => exitCode ?? exitCodes.done));
  } finally {
    closeScreen();
    await endTelemetry();
    try {
      await series.close();
    } finally {
      interrupts.release();
    }
  }
}
