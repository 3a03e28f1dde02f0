import { formatDuration, formatFigure, inertLine, plainLine } from '../../src/base/format.ts';
import { describeEnd, type Print } from '../../src/headless/lines.ts';
import { describeAssignment } from '../../src/study/summary/describe.ts';
import type { TrialFailure } from '../../src/study/types.ts';
import type { TunerEvent } from '../../src/tuner/seams.ts';

/** The outputs for lines. */
export interface RecordingScreen {
  readonly print: Print;
  /** Shows a line that the next one replaces. */
  readonly status: (line: string | null) => void;
  /** Returns the maximum number of points still to measure. */
  readonly pointsLeft: () => number;
}

/**
 * Writes a recording as lines: one for each finished candidate, and the time left. Returns a
 * function to call with every event.
 */
export function createRecordingLines({
  print: write,
  status,
  pointsLeft,
}: RecordingScreen): (event: TunerEvent) => void {
  const print = (line: string): void => write(inertLine(line));
  let candidate = { name: '', figures: [] as string[] };
  let startMs = 0;
  let measured = 0;
  const name = { of: '' };
  const leave = (): void => {
    if (candidate.figures.length > 0) print(`${candidate.name}: ${candidate.figures.join(', ')}`);
  };
  return (event) => {
    switch (event.type) {
      case 'study-started':
      case 'study-resumed':
        startMs = Date.parse(event.at);
        return;
      case 'trial-started': {
        const { assignment } = event.candidate;
        name.of = Object.keys(assignment).length === 0 ? 'the original config' : describeAssignment(assignment);
        if (name.of === candidate.name) return;
        leave();
        candidate = { name: name.of, figures: [] };
        return;
      }
      case 'trial-measured': {
        const { level, throughput, latencyMs } = event.measurement;
        candidate.figures.push(`${level.value}→${formatFigure(throughput.value)}/s p99 ${formatFigure(latencyMs.p99)}`);
        return;
      }
      case 'trial-finished': {
        if (event.failure) candidate.figures.push(describeFailure(event.failure, event.chosen !== null));
        measured += 1;
        const left = pointsLeft();
        const seconds = ((Date.parse(event.at) - startMs) / measured / 1e3) * left;
        status(`${left} points left, about ${formatDuration(seconds)}: ${candidate.name}`);
        return;
      }
      case 'restoring':
        leave();
        candidate.figures = [];
        status(null);
        return;
      case 'model-restored':
      case 'study-finished':
        for (const line of describeEnd(event)) print(line);
        return;
      default:
        return;
    }
  };
}

/** Returns why a point has no figures. If it was measured anyway, the grid has the reason. */
const describeFailure = ({ kind, reason }: TrialFailure, isMeasured: boolean): string =>
  isMeasured ? kind : `${kind}: ${plainLine(reason, 120)}`;
