import type { ProtectSpec } from '../../spec/server-spec.ts';
import type { OptionTable } from './option-table.ts';
import { collectListed } from './option-values.ts';

export const protectOptionTable: OptionTable<ProtectSpec> = {
  protect: {
    flags: '--protect <models>',
    help: 'models that must not be touched, as a,b or each with its own --protect: what would change one of them is refused',
    parse: collectListed,
  },
};
