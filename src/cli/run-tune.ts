import { realClock } from '../base/clock.ts';
import { tune } from '../tuner/tune.ts';
import { dryRun } from './dry-run.ts';
import { exitCodes } from './exit-codes.ts';
import { listenForInterrupts } from './interrupts.ts';
import { checkControllable, openServer, readOriginal } from './open-server.ts';
import { discardEmpty } from './output-directory.ts';
import { planStudy } from './plan-study.ts';
import { assumptionsOf, requestsOf } from './requests.ts';
import { assembleParts } from './run-parts.ts';
import { openScreen, type Screen } from './screen.ts';
import type { Terminal } from './terminal.ts';
import { warnIfInsecure } from './tls-options.ts';
import type { TuneOptions } from './tune-options.ts';
import { openRequest, type TuneRequest } from './tune-request.ts';
import { exportConfig, writeDocuments } from './write-documents.ts';

/**
 * One run of `tritune tune`, from its options to its exit code: opens the output directory and the server, plans, tunes,
 * and writes the documents, also of a run that ends early. `given`: the options that the user named.
 */
export async function runTune(
  options: TuneOptions,
  given: ReadonlySet<keyof TuneOptions>,
  terminal: Terminal,
): Promise<number> {
  if (options.dryRun) {
    warnIfInsecure(options, terminal);
    return dryRun(options, terminal);
  }
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
    const exitCode = await runRequest(request, interrupts.signal, screen);
    await screen.untilLeft(interrupts.signal);
    return exitCode;
  } finally {
    screen?.close();
    interrupts.release();
    await request.journal.close();
    await discardEmpty(request.directory);
  }
}

async function runRequest(request: TuneRequest, signal: AbortSignal, screen: Screen): Promise<number> {
  const opened = await openServer(request.options, request.model, request.directory, signal);
  try {
    await checkControllable(opened.client);
    const original = await readOriginal(opened.client, request.model);
    const planned = planStudy(request, opened.server, original);
    const inputs = await requestsOf(request.options, original);
    for (const line of assumptionsOf(inputs)) screen.tell(line);
    const { parts, close } = await assembleParts(request, planned, opened, inputs, screen.drawsFrames);
    const steered = { ...parts, ...(screen.steering && { steering: screen.steering }) };
    const failure = await tune(planned.plan, steered, screen.onEvent, signal).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    await close();
    const written = await writeDocuments(request.directory).catch((error: unknown) => {
      throw failure ? failure.error : error;
    });
    screen.onEnd(written);
    if (failure) throw failure.error;
    if (signal.aborted) return exitCodes.interrupted;
    return written.summary.feasible ? exitCodes.done : exitCodes.infeasible;
  } finally {
    await opened.close();
  }
}
