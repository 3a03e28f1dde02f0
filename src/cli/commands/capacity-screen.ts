import { formatFigure, formatMs } from '#base/format.ts';
import type { CapacityEvent } from '#capacity/means.ts';
import type { CapacityLimit } from '#capacity/reading.ts';
import { eventLine } from '#headless/capacity-lines.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import type { Terminal } from '../terminal.ts';

/** The output during the search for a capacity. */
export interface CapacityScreen {
  readonly onEvent: (event: CapacityEvent) => void;
  readonly onProgress: (progress: ProfileProgress) => void;
}

/** Prints a line for every attempt, and a progress line if a person watches. */
export function capacityScreen(limit: CapacityLimit, terminal: Terminal): CapacityScreen {
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
