import { prepareCapacity, writeCapacity } from '../../../app/capacity/documents.ts';
import { loadsOn } from '../../../app/capacity/loads.ts';
import { commandLineWithoutValues } from '../../../app/server/headers.ts';
import { warnIfInsecure } from '../../../app/server/tls.ts';
import { rateSchedule } from '../../../app/traffic/schedule.ts';
import { limitsOf } from '../../../app/traffic/workload.ts';
import { realClock } from '../../../base/clock.ts';
import { NS_PER_S } from '../../../base/units.ts';
import { trituneVersion } from '../../../base/version.ts';
import { capacityDocument } from '../../../capacity/document.ts';
import type { CapacityDocument } from '../../../capacity/document-schema.ts';
import type { CapacityQuestion } from '../../../capacity/question.ts';
import { runCapacity } from '../../../capacity/run.ts';
import { freshState } from '../../../capacity/state.ts';
import { capacityLines, capacityNotes } from '../../../headless/capacity-lines.ts';
import { exitCodes } from '../../exit-codes.ts';
import type { Terminal } from '../../terminal.ts';
import { shownCommandLine } from '../profile/http.ts';
import { interruptible } from '../profile/run.ts';
import type { ServiceKind } from '../profile/service-kind.ts';
import type { CapacityOptions } from './options.ts';
import { questionOf } from './question.ts';
import { capacityScreen } from './screen.ts';
import { type CapacityTarget, openCapacityTarget, profileOf } from './targets.ts';

/** Finds the capacity, shows it as it narrows, and writes the documents, of a run that ends early too. Gives the exit code. Errors: USAGE, INPUT_INVALID, MODEL_*, SERVER_*, OUTPUT_*. */
export async function runCapacityCommand(
  kind: ServiceKind,
  options: CapacityOptions,
  terminal: Terminal,
): Promise<number> {
  const { batch } = options;
  // Faults in the options are reported before the server is contacted.
  const isFree = options.workload !== undefined && options.latencyBudget === undefined;
  questionOf(options, { batch, followsHost: false, hasLimits: isFree });
  await prepareCapacity(options);
  warnIfInsecure(options, terminal);
  let document: CapacityDocument | null = null;
  const { wasInterrupted } = await interruptible(terminal, async (signal) => {
    const opened = await openCapacityTarget(kind, options, signal);
    const question = questionOf(options, {
      batch,
      followsHost: opened.followsHost,
      hasLimits: (opened.plan.workload?.workload.classes ?? []).some((each) => limitsOf(each) !== undefined),
    });
    try {
      document = await measured(kind, options, question, opened, signal, terminal);
    } finally {
      await opened.close();
    }
  });
  if (document === null) return exitCodes.interrupted;
  return shown(document, wasInterrupted, options, terminal);
}

async function measured(
  kind: ServiceKind,
  options: CapacityOptions,
  question: CapacityQuestion,
  { target, plan, head, windows }: CapacityTarget,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<CapacityDocument> {
  for (const line of target.assumptions) terminal.tell(line);
  const state = freshState();
  const screen = capacityScreen(question, terminal);
  const startNs = realClock.nowNs();
  const loads = loadsOn(target, {
    budgetMs: question.limit.kind === 'latency' ? question.limit.budgetMs : null,
    seed: options.seed,
    requestTimeoutSeconds: profileOf(kind, options).requestTimeout,
    windows,
    workloadPerSecond: plan.workload?.perSecond ?? null,
    scheduleAt: (perSecond, seed) => rateSchedule({ ...options, seed }, perSecond),
    distribution: options.requestDistribution,
    onProgress: screen.onProgress,
  });
  try {
    await runCapacity(question, state, { loads, clock: realClock, onEvent: screen.onEvent });
  } catch (error) {
    // Reports the results so far; there are none before the first rate.
    if (!signal.aborted || state.probes.length === 0) throw error;
  } finally {
    terminal.status(null);
  }
  return capacityDocument(
    {
      ...head,
      trituneVersion,
      arrivals: plan.workload?.workload.name ?? options.requestDistribution,
      commandLine: commandLineWithoutValues(
        kind === 'http' ? shownCommandLine(profileOf(kind, options)) : process.argv.slice(2),
        options,
      ),
    },
    question,
    state,
    { wasInterrupted: signal.aborted, seconds: (realClock.nowNs() - startNs) / NS_PER_S },
  );
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
