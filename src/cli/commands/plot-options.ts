import type { OptionTable } from '../options/option-table.ts';
import { collect, positiveWhole } from '../options/option-values.ts';

/** The options of `tritune plot`, parsed. */
export interface PlotOptions {
  readonly output: string;
  readonly select?: readonly string[];
  readonly clientBatch: number;
}

export const plotOptionTable: OptionTable<PlotOptions> = {
  output: { flags: '-o, --output <directory>', help: 'Directory for the pictures, SVG and PNG', default: 'plots' },
  select: {
    flags: '--select <column=value>',
    help: 'Use only rows with this value, such as gpu=t4 or trial=3; repeatable',
    parse: collect,
  },
  clientBatch: {
    flags: '-b, --client-batch <n>',
    help: 'Samples in one request, unless the table says',
    parse: positiveWhole,
    default: 1,
  },
};
