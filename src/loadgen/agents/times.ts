import type { HeldUp } from '../client/held-up.ts';
import type { PackedBatch, PartState, ThreadCommand, ThreadReport } from '../workers/messages.ts';

/** Returns the command with its times on a clock that is `aheadNs` ahead. */
export function commandAhead(command: ThreadCommand, aheadNs: number): ThreadCommand {
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
export function reportAhead<R extends ThreadReport>(report: R, aheadNs: number): R {
  if (report.type !== 'batch' && report.type !== 'state') return report;
  const ahead = { ...report, state: stateAhead(report.state, aheadNs) };
  return report.type === 'batch' ? { ...ahead, batch: batchAhead(report.batch, aheadNs) } : ahead;
}

function batchAhead(batch: PackedBatch, aheadNs: number): PackedBatch {
  const { startNs, endNs, heldUp } = batch;
  return {
    ...batch,
    startNs: startNs + aheadNs,
    endNs: endNs + aheadNs,
    ...(heldUp && { heldUp: heldUpAhead(heldUp, aheadNs) }),
  };
}

const stateAhead = ({ unserved, ...state }: PartState, aheadNs: number): PartState => ({
  ...state,
  unserved: unserved && { ...unserved, sinceNs: unserved.sinceNs + aheadNs },
});

const heldUpAhead = (heldUp: HeldUp, aheadNs: number): HeldUp => ({
  ...heldUp,
  pauses: heldUp.pauses.map((pause) => ({ ...pause, startNs: pause.startNs + aheadNs })),
});
