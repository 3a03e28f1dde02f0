import { TrituneError } from '#base/errors.ts';
import type { OptionTable } from '../options/option-table.ts';

/** The options of `tritune compare`, parsed. */
export interface CompareOptions {
  readonly baseline?: readonly string[];
  readonly tolerance: number;
  readonly confidence: number;
  readonly mustSee: number;
  readonly failIfUnsure?: boolean;
  readonly passIfUnsure?: boolean;
  readonly allowOtherModel?: boolean;
  readonly junit?: string;
  readonly json?: string;
  readonly markdown?: string;
  readonly github?: boolean;
}

export const compareOptionTable: OptionTable<CompareOptions> = {
  baseline: {
    flags: '--baseline <file>',
    help: 'Another measurement of the baseline; repeatable',
    parse: (text, before: readonly string[] = []) => [...before, text],
  },
  tolerance: {
    flags: '--tolerance <percent>',
    help: 'Largest change for the worse that is accepted, in percent',
    parse: (text) => percentBelow(text, 0, 90),
    default: 2,
  },
  confidence: {
    flags: '--confidence <percent>',
    help: 'Confidence that a regression needs, over all metrics together, in percent',
    parse: (text) => percentBelow(text, 50, 99.9999),
    default: 99,
  },
  mustSee: {
    flags: '--must-see <percent>',
    help: 'Regression that must be ruled out to pass, in percent; otherwise the comparison is inconclusive',
    parse: (text) => percentBelow(text, 0.1, 90),
    default: 10,
  },
  failIfUnsure: {
    flags: '--fail-if-unsure',
    help: 'Exit with 5, as for a regression, if the comparison is inconclusive',
  },
  passIfUnsure: { flags: '--pass-if-unsure', help: 'Exit with 0 if the comparison is inconclusive' },
  allowOtherModel: {
    flags: '--allow-other-model',
    help: 'Compare runs of different models, such as one network in two formats',
  },
  junit: { flags: '--junit <file>', help: 'Write the metrics as JUnit test cases' },
  json: { flags: '--json <file>', help: 'Write all compared metrics as JSON' },
  markdown: { flags: '--markdown <file>', help: 'Append a Markdown table to this file, such as $GITHUB_STEP_SUMMARY' },
  github: { flags: '--github', help: 'Print annotations for GitHub Actions (default: when running there)' },
};

function percentBelow(text: string, low: number, high: number): number {
  const value = Number(text.replace(/ ?%$/, ''));
  if (text.trim() !== '' && value >= low && value <= high) return value;
  throw new TrituneError(
    'USAGE',
    `'${text}' is not a percentage from ${low} to ${high}`,
    `give a number such as ${low + 2}`,
  );
}
