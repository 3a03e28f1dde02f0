import type { CostSpec } from '#spec/price-spec.ts';
import type { FlatStudyOptions } from '#spec/tune-options.ts';
import { type OptionTable, under } from './option-table.ts';
import { positiveNumber } from './option-values.ts';

type CostOptions = Pick<
  FlatStudyOptions,
  'prices' | 'gpu' | 'serverGpus' | 'instanceType' | 'forRate' | 'headroom' | 'holdChance'
>;

/** The price of a server, and the rate to serve (docs/cost.md). */
export const costOptionTable: OptionTable<CostOptions> = under<CostOptions>('Cost and replicas', {
  prices: {
    flags: '--prices <file>',
    help: 'YAML or JSON file with the prices of GPUs and instance types (docs/cost.md)',
  },
  gpu: {
    flags: '--gpu <name>',
    help: 'GPU of --prices that candidates run on, or GPU/SLICE; each one used is paid for',
  },
  serverGpus: {
    flags: '--server-gpus <n>',
    help: 'GPUs of the server (default: as many as its metrics show)',
  },
  instanceType: {
    flags: '--instance-type <name>',
    help: 'Instance type of --prices that the server runs on; all of it is paid for',
  },
  forRate: {
    flags: '--for-rate <n>',
    help: 'Inferences per second to serve, by as many servers as needed; a=1500,b=500 for models that share a server',
    parse: parseRate,
  },
  headroom: {
    flags: '--headroom <percent>',
    help: 'Capacity of each server that stays free, in percent (default: 10)',
  },
  holdChance: {
    flags: '--hold-chance <percent>',
    help: 'Chance that the servers hold --for-rate, in percent (default: 95)',
  },
});

/** `2000`, or `a=1500,b=500`. */
function parseRate(text: string, previous: CostSpec['forRate']): NonNullable<CostSpec['forRate']> {
  if (!text.includes('=')) return positiveNumber(text);
  const rates = text.split(',').map((part) => {
    const at = part.lastIndexOf('=');
    return [part.slice(0, Math.max(0, at)).trim(), positiveNumber(part.slice(at + 1))] as const;
  });
  return { ...(typeof previous === 'object' ? previous : {}), ...Object.fromEntries(rates) };
}
