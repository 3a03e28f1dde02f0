import { dirname } from 'node:path';
import { formatFigure } from '../base/format.ts';
import type { Summary } from '../study/summary/summary.ts';

/** Where the documents lie that a reader goes on with; absent or null for those that were not written. */
export interface NextDocuments {
  readonly summary?: string | null;
  readonly report?: string | null;
  readonly config?: string | null;
}

/** Returns what to do after a run, a step a line, three at most: after one on the emulator, how to come to one on a server. */
export function nextSteps(summary: Summary, { summary: own, report, config }: NextDocuments): readonly string[] {
  const look = report ? [`look at it: open ${report} in a browser`] : [];
  if (summary.emulated !== null) return [...look, `try it on your server: ${tuneCommand(summary)}`, CI];
  if (summary.interrupted && own) return [...look, `go on with it: npx tritune tune --resume ${dirname(own)}`];
  if (!summary.best) return [`find out why: npx tritune doctor -m ${summary.model} -u HOST:PORT`];
  if (!summary.feasible) return [...look, 'allow a higher latency, or search longer (--time-budget, --max-trials)'];
  const isBetter = summary.best.trial !== summary.baseline?.trial;
  const keep = isBetter && config ? [`keep it: copy ${config} into the model's folder of your repository`] : [];
  return [...look, ...keep, CI];
}

const CI =
  'put it into CI: npx tritune profile -m MODEL -u HOST:8001 --json run.json && npx tritune compare baseline.json run.json';

const tuneCommand = ({ budget }: Summary): string =>
  `npx tritune tune -m MODEL -u HOST:8001${budget ? ` --latency-budget ${formatFigure(budget.latencyMs)}` : ''}`;
