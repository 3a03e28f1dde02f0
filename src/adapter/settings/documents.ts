import type { Candidate } from '#space/types.ts';
import type { EmittedDocument } from '#tuner/adapter.ts';

/** Returns the settings of a candidate as a JSON file. */
export const settingsDocuments = ({ value }: Candidate): readonly EmittedDocument[] => [
  { path: 'settings.json', text: `${JSON.stringify(value.settings ?? value, null, 2)}\n` },
];
