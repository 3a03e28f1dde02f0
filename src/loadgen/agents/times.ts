import type { HeldUp } from '../client/held-up.ts';
import type { Unserved } from '../flow.ts';
import type { Command, PackedBatch, Report } from '../workers/messages.ts';

/** Returns the command with its times on a clock that is `aheadNs` ahead. */
export function commandAhead(command: Command, aheadNs: number): Command {
  if (command.type === 'start') return { ...command, startNs: command.startNs + aheadNs };
  if (command.type !== 'record') return command;
  const { rule, startNs } = command;
  return {
    ...command,
    rule: rule.inStepWithNs === undefined ? rule : { ...rule, inStepWithNs: rule.inStepWithNs + aheadNs },
    startNs: startNs === null ? null : startNs + aheadNs,
  };
}

/** Returns the report of a thread with its times shifted in the same way. */
export function reportAhead<R extends Report>(report: R, aheadNs: number): R {
  if (report.type === 'batch') return { ...report, batch: batchAhead(report.batch, aheadNs) };
  if (report.type !== 'state') return report;
  return { ...report, state: { ...report.state, unserved: unservedAhead(report.state.unserved, aheadNs) } };
}

function batchAhead(batch: PackedBatch, aheadNs: number): PackedBatch {
  const { startNs, endNs, unserved, heldUp } = batch;
  return {
    ...batch,
    startNs: startNs + aheadNs,
    endNs: endNs + aheadNs,
    unserved: unservedAhead(unserved, aheadNs),
    ...(heldUp && { heldUp: heldUpAhead(heldUp, aheadNs) }),
  };
}

const unservedAhead = (unserved: Unserved | null, aheadNs: number): Unserved | null =>
  unserved && { ...unserved, sinceNs: unserved.sinceNs + aheadNs };

const heldUpAhead = (heldUp: HeldUp, aheadNs: number): HeldUp => ({
  ...heldUp,
  pauses: heldUp.pauses.map((pause) => ({ ...pause, startNs: pause.startNs + aheadNs })),
});
