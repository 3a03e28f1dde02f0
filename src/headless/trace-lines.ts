import { formatFigure, plainLine } from '../base/format.ts';
import {
  type SpanFigures,
  type SpanName,
  spanNames,
  type TraceGroup,
  type TraceSummary,
} from '../profiler/trace-summary.ts';

const labels: Readonly<Record<SpanName, string>> = {
  total: 'total',
  receive: '  receive',
  request: '  request',
  queue: '    queue',
  compute: '    compute',
  computeInput: '      input',
  computeInfer: '      infer',
  computeOutput: '      output',
  send: '  send',
};
const columns = ['avg', 'p50', 'p90', 'p95', 'p99', 'max'] as const;
const LABEL_WIDTH = 14;
const FIGURE_WIDTH = 10;

/** The summary for people, a table for each kind of request and model; with `eachRequest` a line for every request after it. */
export function traceLines(summary: TraceSummary, eachRequest: boolean): readonly string[] {
  return [
    ...summary.groups.flatMap((group, at) => [...(at > 0 ? [''] : []), ...groupLines(group)]),
    '',
    ...summary.executions.map(
      ({ model, version, executions, requests, largest }) =>
        `${nameOf([model], version)}: ${requests} traced requests in ${executions} executions, ${formatFigure(requests / executions)} in each, at most ${largest}`,
    ),
    ...(eachRequest ? ['', ...requestLines(summary)] : []),
    ...notes(summary),
  ];
}

function groupLines(group: TraceGroup): string[] {
  const head = `${group.kind} ${nameOf(group.models, group.version)}: ${group.requests} requests`;
  const titles = 'µs'.padEnd(LABEL_WIDTH) + columns.map((name) => name.padStart(FIGURE_WIDTH)).join('');
  const rows = spanNames.flatMap((name) => {
    const figures = group.spans[name];
    return figures ? [labels[name].padEnd(LABEL_WIDTH) + columns.map((column) => cell(figures, column)).join('')] : [];
  });
  return [head, `  ${titles}`, ...rows.map((row) => `  ${row}`)];
}

const cell = (figures: SpanFigures, column: (typeof columns)[number]): string =>
  formatFigure(figures[`${column}Us`]).padStart(FIGURE_WIDTH);

const nameOf = (models: readonly string[], version: number): string =>
  `${models.map((model) => plainLine(model, 80)).join(' > ')} (version ${version})`;

function requestLines({ requests }: TraceSummary): string[] {
  return requests.map(({ id, models, version, requestId, kind, startUs, spansUs }) => {
    const spans = spanNames.flatMap((name) => {
      const us = spansUs[name];
      return us === undefined ? [] : [`${labels[name].trim()} ${formatFigure(us)}`];
    });
    const named = requestId === '' ? '' : ` '${plainLine(requestId, 80)}'`;
    const own = nameOf(models.slice(-1), version);
    return `${'  '.repeat(models.length - 1)}${id}${named} ${kind} ${own} at ${formatFigure(startUs)} µs: ${spans.join(', ')}`;
  });
}

function notes({ nameless, unfinished }: TraceSummary): string[] {
  return [
    ...(nameless > 0 ? [`${nameless} traces have no beginning in the files and do not count`] : []),
    ...unfinished.map((file) => `${plainLine(file)} has no end: its server still has it open, or was killed`),
  ];
}
