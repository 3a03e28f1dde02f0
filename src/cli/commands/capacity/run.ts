import { prepareCapacity, writeCapacity } from '../../../app/capacity/documents.ts';
import { limitAsked, measureCapacity } from '../../../app/capacity/measure.ts';
import { type CapacityTarget, openLanguage, openTriton } from '../../../app/capacity/targets.ts';
import { afterRestoring } from '../../../app/restore/restore-first.ts';
import { commandLineWithoutValues } from '../../../app/server/headers.ts';
import { warnIfInsecure } from '../../../app/server/tls.ts';
import type { CapacityDocument } from '../../../capacity/document-schema.ts';
import { capacityLines, capacityNotes } from '../../../headless/capacity-lines.ts';
import { exitCodes } from '../../exit-codes.ts';
import type { Terminal } from '../../terminal.ts';
import { shownCommandLine } from '../profile/http.ts';
import { interruptible } from '../profile/run.ts';
import type { ServiceKind } from '../profile/service-kind.ts';
import { openHttp } from './http.ts';
import type { CapacityOptions } from './options.ts';
import { capacityScreen } from './screen.ts';

/**
 * Finds the capacity, shows its progress, and writes the documents, also after an early end. Returns the exit code. Errors: USAGE, INPUT_INVALID,
 * MODEL_*, SERVER_*, OUTPUT_*.
 */
export async function runCapacityCommand(
  kind: ServiceKind,
  options: CapacityOptions,
  terminal: Terminal,
): Promise<number> {
  // Faults in the options are reported before the server is contacted.
  const limit = limitAsked(options);
  await prepareCapacity(options);
  warnIfInsecure(options, terminal);
  const given = kind === 'http' ? shownCommandLine(options) : process.argv.slice(2);
  const commandLine = commandLineWithoutValues(given, options);
  let document: CapacityDocument | null = null;
  const { wasInterrupted } = await interruptible(terminal, async (signal) => {
    const opened = await afterRestoring(options, terminal.tell, () => openTarget(kind, options, signal));
    const watch = { ...capacityScreen(limit, terminal), tell: terminal.tell };
    try {
      document = await measureCapacity(options, opened, { commandLine, watch }, signal);
    } finally {
      terminal.status(null);
      await opened.close();
    }
  });
  if (document === null) return exitCodes.interrupted;
  return shown(document, wasInterrupted, options, terminal);
}

function openTarget(
  kind: ServiceKind,
  { json, output, ...options }: CapacityOptions,
  signal: AbortSignal,
): Promise<CapacityTarget> {
  if (kind === 'http') return openHttp(options, signal);
  return kind === 'language' ? openLanguage(options, signal) : openTriton(options, signal);
}

async function shown(
  document: CapacityDocument,
  wasInterrupted: boolean,
  options: CapacityOptions,
  terminal: Terminal,
): Promise<number> {
  for (const line of capacityLines(document)) terminal.print(line);
  for (const line of capacityNotes(document)) terminal.tell(line);
  for (const path of await writeCapacity(document, options)) terminal.tell(`wrote ${path}`);
  if (wasInterrupted) return exitCodes.interrupted;
  return document.outcome === 'infeasible' ? exitCodes.infeasible : exitCodes.done;
}
