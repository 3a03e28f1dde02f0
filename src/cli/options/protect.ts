import type { ProtectSpec } from '../../spec/server-spec.ts';
import { type OptionTable, under } from './option-table.ts';
import { collectListed } from './option-values.ts';

export const protectOptionTable: OptionTable<ProtectSpec> = under<ProtectSpec>('Safety', {
  protect: {
    flags: '--protect <models>',
    help: 'Models that tritune must never change, separated by commas; repeatable',
    parse: collectListed,
  },
});
