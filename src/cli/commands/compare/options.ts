import { TrituneError } from '../../../base/errors.ts';
import type { OptionTable } from '../../options/option-table.ts';

/** The options of `tritune compare`, parsed. */
export interface CompareOptions {
  readonly baseline?: readonly string[];
  readonly tolerance: number;
  readonly confidence: number;
  readonly allowOtherModel?: boolean;
  readonly junit?: string;
  readonly json?: string;
  readonly markdown?: string;
  readonly github?: boolean;
}

export const compareOptionTable: OptionTable<CompareOptions> = {
  baseline: {
    flags: '--baseline <file>',
    help: 'one more measurement of the baseline; repeatable',
    parse: (text, before: readonly string[] = []) => [...before, text],
  },
  tolerance: {
    flags: '--tolerance <percent>',
    help: 'changes for the worse up to so much are borne',
    parse: (text) => percentBelow(text, 0, 90),
    default: 2,
  },
  confidence: {
    flags: '--confidence <percent>',
    help: 'how sure a regression must be, over all figures together',
    parse: (text) => percentBelow(text, 50, 99.9999),
    default: 99,
  },
  allowOtherModel: {
    flags: '--allow-other-model',
    help: 'the runs are of another model than the baseline, such as the same network in another format',
  },
  junit: { flags: '--junit <file>', help: 'write the figures as test cases, for test reporters' },
  json: { flags: '--json <file>', help: 'write everything that was compared as JSON' },
  markdown: { flags: '--markdown <file>', help: "append a table, such as to GitHub's $GITHUB_STEP_SUMMARY" },
  github: { flags: '--github', help: 'print annotations of GitHub Actions (default: when it runs there)' },
};

function percentBelow(text: string, low: number, high: number): number {
  const value = Number(text.replace(/ ?%$/, ''));
  if (text.trim() !== '' && value >= low && value <= high) return value;
  throw new TrituneError('USAGE', `'${text}' is no percentage here`, `give ${low} to ${high}`);
}
