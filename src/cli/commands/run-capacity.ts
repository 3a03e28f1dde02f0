import { prepareCapacity, writeCapacity } from '#app/capacity/documents.ts';
import { measureCapacity, readLimit } from '#app/capacity/measure.ts';
import { openCapacity } from '#app/capacity/open-capacity.ts';
import { readCapacityScaling, withAutoscalers } from '#app/capacity/scaling.ts';
import { exitCodes } from '#app/exit-codes.ts';
import { listCapacityFigures } from '#app/otlp-figures.ts';
import type { ServiceKind } from '#app/profile/service.ts';
import { afterRestoring } from '#app/restore-first.ts';
import { commandLineWithoutValues } from '#app/server/headers.ts';
import { warnIfInsecure } from '#app/server/tls.ts';
import { closeTelemetry, openTelemetry } from '#app/telemetry.ts';
import { formatFigure, formatMs } from '#base/format.ts';
import type { CapacityDocument } from '#capacity/document-schema.ts';
import type { CapacityEvent } from '#capacity/means.ts';
import type { CapacityLimit } from '#capacity/reading.ts';
import { capacityLines, capacityNotes, eventLine } from '#headless/capacity-lines.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import type { Terminal } from '../terminal.ts';
import type { ParsedCapacityOptions } from './capacity-options.ts';
import { interruptible, shownCommandLine } from './profile/run.ts';

/** The output during the search for a capacity. */
interface CapacityScreen {
  readonly onEvent: (event: CapacityEvent) => void;
  readonly onProgress: (progress: ProfileProgress) => void;
}

/** Prints a line for every attempt, and a progress line if a person watches. */
function capacityScreen(limit: CapacityLimit, terminal: Terminal): CapacityScreen {
  let doing = '';
  return {
    onEvent: (event) => {
      const line = eventLine(event, limit);
      if (line.kind === 'doing') {
        doing = line.text;
        terminal.status(doing);
        return;
      }
      terminal.status(null);
      terminal.print(line.text);
    },
    onProgress: (progress) => {
      if (progress.phase !== 'window') return;
      const { throughput, latencyMs } = progress;
      terminal.status(`${doing}: window ${progress.window}, ${formatFigure(throughput)}/s, ${formatMs(latencyMs)}`);
    },
  };
}

/**
 * Finds the capacity, shows its progress, and writes the documents, also after an early end.
 * Returns the exit code. Errors: USAGE, INPUT_INVALID, MODEL_*, SERVER_*, OUTPUT_*.
 */
export async function runCapacityCommand(
  kind: ServiceKind,
  options: ParsedCapacityOptions,
  terminal: Terminal,
): Promise<number> {
  // Faults in the options are reported before the server is contacted.
  const limit = readLimit(options);
  const scaling = await readCapacityScaling(kind, options);
  await prepareCapacity(options);
  warnIfInsecure(options, terminal);
  const commandLine = commandLineWithoutValues(shownCommandLine(options), options);
  const { json, output, emit, otlp, ...spec } = options;
  const telemetry = await openTelemetry(otlp, { command: 'capacity', model: options.model ?? '' });
  const { tell } = terminal;
  let document: CapacityDocument | null = null;
  const { wasInterrupted } = await interruptible(terminal, async (signal) => {
    const opened = await afterRestoring(options, tell, () => openCapacity(kind, spec, { signal, tell }));
    const watch = { ...capacityScreen(limit, terminal), tell };
    try {
      document = await measureCapacity(options, opened, { commandLine, watch }, signal);
    } finally {
      terminal.status(null);
      await opened.close();
    }
  });
  if (document !== null) telemetry?.record(listCapacityFigures(document));
  await closeTelemetry(telemetry, tell);
  if (document === null) return exitCodes.interrupted;
  const measured = document;
  const complete = await withAutoscalers(measured, scaling).catch(async (error: unknown) => {
    // What was measured for minutes is not lost with a file.
    await shown(measured, wasInterrupted, options, terminal);
    throw error;
  });
  if (scaling && !complete.autoscalers) tell('no capacity is known, so nothing was emitted for an autoscaler');
  return shown(complete, wasInterrupted, options, terminal);
}

async function shown(
  document: CapacityDocument,
  wasInterrupted: boolean,
  options: ParsedCapacityOptions,
  terminal: Terminal,
): Promise<number> {
  for (const line of capacityLines(document)) terminal.print(line);
  for (const line of capacityNotes(document)) terminal.tell(line);
  const files = (document.autoscalers ?? []).map(({ file }) => file);
  for (const path of [...files, ...(await writeCapacity(document, options))]) terminal.tell(`wrote ${path}`);
  if (wasInterrupted) return exitCodes.interrupted;
  return document.outcome === 'infeasible' ? exitCodes.infeasible : exitCodes.done;
}
