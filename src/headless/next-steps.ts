import { dirname } from 'node:path';
import { formatFigure } from '../base/format.ts';
import { describeTooManyFailed } from '../profiler/failed-requests.ts';
import { allowedErrorRate } from '../study/goal/goal.ts';
import type { Summary } from '../study/summary/summary.ts';

/** Paths of the documents to continue with; absent or null if not written. */
export interface NextDocuments {
  readonly summary?: string | null;
  readonly report?: string | null;
  readonly config?: string | null;
}

/** Returns what to do after a run: up to three steps, one per line. After a run on the emulator, says how to run on a server. */
export function nextSteps(summary: Summary, { summary: own, report, config }: NextDocuments): readonly string[] {
  const look = report && summary.best ? [`look at it: open ${report} in a browser`] : [];
  if (summary.interrupted && own) return [...look, `go on with it: ${resumeCommand(own)}`];
  if (summary.emulated !== null) {
    const looser = summary.best && !summary.feasible ? [looserStep(summary)] : [];
    return [...look, ...looser, `try it on your server: ${tuneCommand(summary)}`, CI].slice(0, MOST_STEPS);
  }
  if (!summary.best) return [`find out why: npx tritune doctor -m ${summary.model} -u HOST:PORT`];
  if (!summary.feasible) return [...look, looserStep(summary)];
  const isBetter = summary.best.trial !== summary.baseline?.trial;
  const resume =
    isBetter && isUnsure(summary) && own ? [`confirm the gain: ${resumeCommand(own)} --time-budget 10m`] : [];
  const keep = isBetter && config ? [`keep it: copy ${config} into the model's folder of your repository`] : [];
  return [...look, ...resume, ...keep, CI].slice(0, MOST_STEPS);
}

const MOST_STEPS = 3;

/** Returns what to change if nothing met the goal. */
const looserStep = ({ best, constraints }: Summary): string =>
  best && describeTooManyFailed(best, allowedErrorRate(constraints))
    ? "find out from the server's log why requests fail, or allow it, such as with --constraint 'error-rate<=5%'"
    : 'allow a higher latency, or search longer (--time-budget, --max-trials)';

/** True if there was no final, or only one round of it. */
const isUnsure = ({ gain }: Summary): boolean => gain === null || gain.low === null || !(gain.low > 0);

const resumeCommand = (summary: string): string => `npx tritune tune --resume ${dirname(summary)}`;

const CI =
  'put it into CI: npx tritune profile -m MODEL -u HOST:8001 --json run.json && npx tritune compare baseline.json run.json';

const tuneCommand = ({ budget }: Summary): string =>
  `npx tritune tune -m MODEL -u HOST:8001${budget ? ` --latency-budget ${formatFigure(budget.latencyMs)}` : ''}`;
