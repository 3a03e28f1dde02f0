import { readSpecChange, type SettableDocument, type SpecChange, specPaths } from '#spec/spec-change.ts';
import { type OptionTable, under } from './option-table.ts';

export interface SetFlags {
  readonly set?: readonly SpecChange[];
}

/** Returns the option that reaches every field of the document. */
export const setOptionTable = (document: SettableDocument): OptionTable<SetFlags> =>
  under<SetFlags>('Output', {
    set: {
      flags: '--set <path=value>',
      help: `Set a field of the ${document.name} by its path, such as traffic.batch=8; null removes it; repeatable (${document.page})`,
      parse: (text, previous) => [...(previous ?? []), readSpecChange(text, document)],
      offers: () => specPaths(document).map((path) => `${path}=`),
    },
  });
