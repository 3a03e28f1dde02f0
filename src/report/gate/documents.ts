import { inertLog, plainLine } from '#base/format.ts';
import type { Comparison, GateDecision } from './decide.ts';
import { timesLine } from './times.ts';
import {
  adviceLine,
  changeText,
  comparisonLine,
  decisionLine,
  figureText,
  formatName,
  unsureLine,
  verdictName,
} from './words.ts';

const isBad = ({ verdict }: Comparison): boolean => verdict === 'regression' || verdict === 'missing';

/** Returns the decision as JSON: everything that was compared and decided. */
export const gateJson = (decision: GateDecision): string =>
  `${JSON.stringify({ schemaVersion: 1, ...decision }, null, 2)}\n`;

/**
 * Escapes text for a cell of a Markdown table, because model names and server messages may contain
 * anything.
 */
const cell = (text: string): string => plainLine(text, Number.POSITIVE_INFINITY).replace(/[\\`*_~|<>[\]&]/g, '\\$&');

const signs: Readonly<Record<GateDecision['verdict'], string>> = { passed: '✅', regression: '❌', inconclusive: '❔' };

/** Returns the decision as Markdown for a job's summary page. */
export function gateMarkdown(decision: GateDecision): string {
  const { comparisons, faults, notes, times, verdict } = decision;
  const rows = comparisons.map((comparison) => {
    const { before, after } = comparison;
    return [
      formatName(comparison),
      figureText(before.interval.value, before.unit),
      figureText(after?.interval.value, before.unit),
      changeText(comparison),
      verdictName(comparison),
    ];
  });
  const table = [['metric', 'baseline', 'run', 'change', 'verdict'], ['---', '---:', '---:', '---', '---'], ...rows];
  const remarks = [...faults, ...notes, adviceLine(decision)].filter((line) => line !== null);
  return [
    `### ${signs[verdict]} tritune: ${cell(decisionLine(decision))}`,
    '',
    ...remarks.map((line) => `- ${cell(line)}`),
    ...(remarks.length > 0 ? [''] : []),
    ...table.map((cells) => `| ${cells.map(cell).join(' | ')} |`),
    '',
    ...times.flatMap((each) => [`- ${cell(timesLine(each))}`]),
    ...(times.length > 0 ? [''] : []),
  ].join('\n');
}

/**
 * Returns the decision as JUnit XML for test reporters: a case for each metric and each fault. What
 * is inconclusive counts as skipped.
 */
export function gateJUnit({ comparisons, faults }: GateDecision): string {
  const cases = [
    ...faults.map((fault) => ({ name: 'documents', outcome: 'failure', message: fault })),
    ...comparisons.map((comparison) => ({
      name: formatName(comparison),
      outcome: isBad(comparison) ? 'failure' : comparison.verdict === 'unsure' ? 'skipped' : null,
      message: comparisonLine(comparison),
    })),
  ];
  const count = (outcome: string): number => cases.filter((one) => one.outcome === outcome).length;
  const lines = cases.map(({ name, outcome, message }) => {
    const head = `    <testcase classname="tritune.compare" name="${escaped(name)}"`;
    return outcome === null ? `${head}/>` : `${head}><${outcome} message="${escaped(message)}"/></testcase>`;
  });
  const counts = `tests="${cases.length}" failures="${count('failure')}" skipped="${count('skipped')}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite name="tritune compare" ${counts}>`,
    ...lines,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

/** Escapes text for XML, which forbids all but three control characters, even as references. */
const escaped = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

/**
 * Returns workflow commands of GitHub Actions, which appear next to the change. All that is
 * inconclusive is one of them.
 */
export function gateAnnotations(decision: GateDecision): readonly string[] {
  const { comparisons, faults, notes, verdict } = decision;
  // Other CIs obey commands within a line.
  const encoded = (text: string): string =>
    inertLog(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const unsure = { passed: unsureLine, regression: () => null, inconclusive: decisionLine }[verdict](decision);
  return [
    ...faults.map((fault) => `::error title=tritune::${encoded(fault)}`),
    ...notes.map((note) => `::notice title=tritune::${encoded(note)}`),
    ...comparisons.filter(isBad).map((comparison) => `::error title=tritune::${encoded(comparisonLine(comparison))}`),
    ...comparisons
      .filter((comparison) => comparison.verdict === 'worse')
      .map((comparison) => `::warning title=tritune::${encoded(comparisonLine(comparison))}`),
    ...(unsure === null ? [] : [`::warning title=tritune::${encoded(unsure)}`]),
  ];
}
