import type { CostSpec } from '../../spec/price-spec.ts';
import type { TuneOptions } from '../../spec/tune-options.ts';
import type { OptionTable } from './option-table.ts';
import { percent, positiveNumber, positiveWhole } from './option-values.ts';

type CostOptions = Pick<
  TuneOptions,
  'prices' | 'gpu' | 'serverGpus' | 'instanceType' | 'forRate' | 'headroom' | 'holdChance'
>;

/** What a server costs, and what is to be served (docs/cost.md). */
export const costOptionTable: OptionTable<CostOptions> = {
  prices: { flags: '--prices <file>', help: 'what GPUs and instance types cost, YAML or JSON (docs/cost.md)' },
  gpu: {
    flags: '--gpu <name>',
    help: 'with --prices: what candidates are placed on, a GPU or GPU/SLICE; each that a candidate uses is paid for',
  },
  serverGpus: {
    flags: '--server-gpus <n>',
    help: 'GPUs of the server, for candidates that use all (default: as many as its metrics show)',
    parse: positiveWhole,
  },
  instanceType: {
    flags: '--instance-type <name>',
    help: 'with --prices: what the server is; the whole of it is paid for, whatever a candidate uses',
  },
  forRate: {
    flags: '--for-rate <n>',
    help: 'inferences per second that are to be served, by as many servers as that takes; of models that share a server also a=1500,b=500',
    parse: rateOf,
  },
  headroom: {
    flags: '--headroom <percent>',
    help: "with --for-rate: the part of a server's capacity that stays free (default: 10)",
    parse: percent(0, 95),
  },
  holdChance: {
    flags: '--hold-chance <percent>',
    help: 'with --for-rate: how sure the servers must be to hold it (default: 95)',
    parse: percent(50, 99.9),
  },
};

/** `2000`, or `a=1500,b=500`. */
function rateOf(text: string, previous: CostSpec['forRate']): NonNullable<CostSpec['forRate']> {
  if (!text.includes('=')) return positiveNumber(text);
  const rates = text.split(',').map((part) => {
    const at = part.lastIndexOf('=');
    return [part.slice(0, Math.max(0, at)).trim(), positiveNumber(part.slice(at + 1))] as const;
  });
  return { ...(typeof previous === 'object' ? previous : {}), ...Object.fromEntries(rates) };
}
