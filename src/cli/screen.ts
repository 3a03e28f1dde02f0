import { closingLines } from '../headless/closing.ts';
import { createJsonLines } from '../headless/json-lines.ts';
import { createLines } from '../headless/lines.ts';
import type { WrittenRun } from '../report/write-run.ts';
import type { TunerEvent } from '../tuner/seams.ts';
import type { Terminal } from './terminal.ts';
import type { UiName } from './tune-options.ts';

/** What a run is shown on. */
export interface Screen {
  readonly onEvent: (event: TunerEvent) => void;
  /** Once, when the documents are written. */
  readonly onEnd: (written: WrittenRun) => void;
}

export function createScreen(ui: UiName, terminal: Terminal): Screen {
  switch (ui) {
    case 'none':
      return { onEvent: () => undefined, onEnd: () => undefined };
    case 'json': {
      const print = createJsonLines(terminal.print);
      return {
        onEvent: print,
        onEnd: ({ summary, files }) => print({ type: 'documents-written', ...{ summary, files } }),
      };
    }
    case 'auto':
    case 'lines':
      return {
        onEvent: createLines(terminal.print),
        onEnd: ({ summary, files }) => {
          for (const line of closingLines(summary, files)) terminal.print(line);
        },
      };
  }
}
