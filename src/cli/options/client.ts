import type { ClientSpec } from '../../spec/traffic-spec.ts';
import type { OptionTable } from './option-table.ts';
import { positiveWhole, wholeNumber } from './option-values.ts';

export const clientOptionTable: OptionTable<ClientSpec> = {
  clientThreads: {
    flags: '--client-threads <n>',
    help: 'threads that send, each over connections of its own; one does for most models (default: 1)',
    parse: positiveWhole,
  },
  maxErrors: {
    flags: '--max-errors <n>',
    help: 'a load level with more failed requests than this ends at once and does not count (default: no limit)',
    parse: wholeNumber,
  },
};
