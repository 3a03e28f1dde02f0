import { plainLine } from '../../base/format.ts';
import type { Comparison, GateDecision } from './decide.ts';
import { changeText, comparisonLine, decisionLine, figureText, verdictName } from './words.ts';

const isBad = ({ verdict }: Comparison): boolean => verdict === 'regression' || verdict === 'missing';

/** Returns the decision as JSON: everything that was compared and decided. */
export const gateJson = (decision: GateDecision): string =>
  `${JSON.stringify({ schemaVersion: 1, ...decision }, null, 2)}\n`;

/** Escapes text for a cell of a Markdown table, because model names and server messages may contain anything. */
const cell = (text: string): string => plainLine(text, Number.POSITIVE_INFINITY).replace(/[\\`*_~|<>[\]&]/g, '\\$&');

function sign({ comparisons, isRegression }: GateDecision): string {
  if (isRegression) return '❌';
  return comparisons.some(({ verdict }) => verdict === 'unsure') ? '⚠️' : '✅';
}

/** Returns the decision as Markdown for a job's summary page. */
export function gateMarkdown(decision: GateDecision): string {
  const { comparisons, faults, notes } = decision;
  const rows = comparisons.map((comparison) => {
    const { before, after } = comparison;
    return [
      `${before.subject}, ${before.metric}`,
      figureText(before.interval.value, before.unit),
      figureText(after?.interval.value, before.unit),
      changeText(comparison),
      verdictName(comparison),
    ];
  });
  const table = [['figure', 'baseline', 'run', 'change', 'verdict'], ['---', '---:', '---:', '---', '---'], ...rows];
  return [
    `### ${sign(decision)} tritune: ${cell(decisionLine(decision))}`,
    '',
    ...[...faults, ...notes].map((line) => `- ${cell(line)}`),
    ...(faults.length + notes.length > 0 ? [''] : []),
    ...table.map((cells) => `| ${cells.map(cell).join(' | ')} |`),
    '',
  ].join('\n');
}

/** Returns the decision as JUnit XML for test reporters: a case for each figure and each fault. */
export function gateJUnit({ comparisons, faults }: GateDecision): string {
  const cases = [
    ...faults.map((fault) => ({ name: 'documents', failure: fault })),
    ...comparisons.map((comparison) => ({
      name: `${comparison.before.subject}, ${comparison.before.metric}`,
      failure: isBad(comparison) ? comparisonLine(comparison) : null,
    })),
  ];
  const failures = cases.filter(({ failure }) => failure !== null).length;
  const lines = cases.map(({ name, failure }) => {
    const head = `    <testcase classname="tritune.compare" name="${escaped(name)}"`;
    return failure === null ? `${head}/>` : `${head}><failure message="${escaped(failure)}"/></testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite name="tritune compare" tests="${cases.length}" failures="${failures}">`,
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

/** Returns workflow commands of GitHub Actions, which appear next to the change. */
export function gateAnnotations({ comparisons, faults, notes }: GateDecision): readonly string[] {
  const encoded = (text: string): string => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  return [
    ...faults.map((fault) => `::error title=tritune::${encoded(fault)}`),
    ...notes.map((note) => `::notice title=tritune::${encoded(note)}`),
    ...comparisons.filter(isBad).map((comparison) => `::error title=tritune::${encoded(comparisonLine(comparison))}`),
    ...comparisons
      .filter(({ verdict }) => verdict === 'worse' || verdict === 'unsure')
      .map((comparison) => `::warning title=tritune::${encoded(comparisonLine(comparison))}`),
  ];
}
