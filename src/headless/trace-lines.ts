import { formatFigure, plainLine } from '#base/format.ts';
import type { SpanName } from '#profiler/trace-spans.ts';
import type { SpanFigures, TracedMoment, TraceGroup, TraceSummary } from '#profiler/trace-summary.ts';

/** In the order of the rows. */
const labels: Readonly<Record<SpanName, string>> = {
  total: 'total',
  receive: '  receive',
  request: '  request',
  queue: '    queue',
  compute: '    compute',
  computeInput: '      input',
  computeInfer: '      infer',
  computeOutput: '      output',
  requestOverhead: '    overhead',
  send: '  send',
  overhead: '  overhead',
};
const rows = Object.keys(labels) as readonly SpanName[];
const columns = ['avg', 'p50', 'p90', 'p95', 'p99', 'max'] as const;
const LABEL_WIDTH = 14;
const FIGURE_WIDTH = 10;
const GAP_WIDTH = 14;

/**
 * Returns the summary for people, with a table for each kind of request and model. With
 * `eachRequest`, a line for every request follows.
 */
export function traceLines(summary: TraceSummary, eachRequest: boolean): readonly string[] {
  return [
    ...summary.groups.flatMap((group, at) => [...(at > 0 ? [''] : []), ...groupLines(group)]),
    '',
    ...summary.executions.map(
      ({ model, version, executions, requests, largest }) =>
        `${formatName([model], version)}: ${requests} traced requests in ${executions} executions, ${formatFigure(requests / executions)} in each, at most ${largest}`,
    ),
    ...inputLines(summary),
    ...(eachRequest ? ['', ...requestLines(summary)] : []),
    ...notes(summary),
  ];
}

/** The sizes of production's requests, for `--shape`. */
function inputLines({ inputs }: TraceSummary): string[] {
  const lines = inputs.map(({ model, input, shapes }) => {
    const counts = shapes.map(({ shape, requests }) => `${plainLine(shape, 80)} in ${requests}`);
    return `${plainLine(model, 80)}: input ${plainLine(input, 80)}: ${counts.join(', ')} of the traced requests`;
  });
  return lines.length > 0 ? [...lines, '--shape takes them without the first number if that is the batch'] : [];
}

function groupLines(group: TraceGroup): string[] {
  const head = `${group.kind} ${formatName(group.models, group.version)}: ${group.requests} requests`;
  const titles = 'µs'.padEnd(LABEL_WIDTH) + columns.map((name) => name.padStart(FIGURE_WIDTH)).join('');
  const lines = rows.flatMap((name) => {
    const figures = group.spans[name];
    return figures ? [labels[name].padEnd(LABEL_WIDTH) + columns.map((column) => cell(figures, column)).join('')] : [];
  });
  return [head, `  ${titles}`, ...lines.map((line) => `  ${line}`)];
}

const cell = (figures: SpanFigures, column: (typeof columns)[number]): string =>
  formatFigure(figures[`${column}Us`]).padStart(FIGURE_WIDTH);

const formatName = (models: readonly string[], version: number): string =>
  `${models.map((model) => plainLine(model, 80)).join(' > ')} (version ${version})`;

function requestLines({ requests }: TraceSummary): string[] {
  return requests.flatMap(({ id, models, version, requestId, kind, startUs, spansUs, moments = [] }) => {
    const spans = rows.flatMap((name) => {
      const us = spansUs[name];
      const of = name === 'requestOverhead' ? 'request ' : '';
      return us === undefined ? [] : [`${of}${labels[name].trim()} ${formatFigure(us)}`];
    });
    const named = requestId === '' ? '' : ` '${plainLine(requestId, 80)}'`;
    const ownName = formatName(models.slice(-1), version);
    const indent = '  '.repeat(models.length - 1);
    return [
      `${indent}${id}${named} ${kind} ${ownName} at ${formatFigure(startUs)} µs: ${spans.join(', ')}`,
      ...momentLines(moments).map((line) => `${indent}  ${line}`),
    ];
  });
}

/** Returns each moment, and the time since the previous one. */
function momentLines(moments: readonly TracedMoment[]): string[] {
  return moments.map(({ name, atUs }, index) => {
    const before = moments[index - 1];
    const gap = before ? `+${formatFigure(atUs - before.atUs)} µs` : '';
    return `${gap.padStart(GAP_WIDTH)}  ${name}`;
  });
}

function notes({ nameless, timeless, unknownMoments, unfinished }: TraceSummary): string[] {
  return [
    ...(timeless > 0 ? [`${timeless} traces have tensors but no times: trace with level TIMESTAMPS too`] : []),
    ...(unknownMoments.length > 0
      ? [`unknown events, not counted: ${unknownMoments.map((name) => `'${plainLine(name, 40)}'`).join(', ')}`]
      : []),
    ...(nameless > 0 ? [`${nameless} traces do not count: their beginning is not in the files`] : []),
    ...unfinished.map((file) => `${plainLine(file)} is incomplete: the server still writes to it, or was killed`),
  ];
}
