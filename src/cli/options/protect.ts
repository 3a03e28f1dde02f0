import type { ProtectSpec, RestoreFirstSpec } from '#spec/server-spec.ts';
import { type OptionTable, under } from './option-table.ts';
import { collectListed } from './option-values.ts';

export const protectOptionTable: OptionTable<ProtectSpec> = under<ProtectSpec>('Safety', {
  protect: {
    flags: '--protect <models>',
    help: 'Models that tritune must never change, separated by commas; repeatable',
    parse: collectListed,
  },
});

/** For commands that take a model's config for its original one. */
export const restoreFirstOptionTable: OptionTable<RestoreFirstSpec> = under<RestoreFirstSpec>('Safety', {
  restoreFirst: {
    flags: '--restore-first',
    help: 'If a killed run left the model changed, restore it first (default: refuse to start)',
  },
});
