import { formatFigure } from '#base/format.ts';
import type { InstanceTypeCost } from '#study/summary/point-schema.ts';
import { type Html, html, none } from '../html.ts';
import { table } from './table.ts';

type Column = readonly [head: string, of: (type: InstanceTypeCost) => string];

const tokensColumn = (currency: string): Column => [
  `per million output tokens, ${currency}`,
  ({ perMillionTokens }) => (perMillionTokens ? formatFigure(perMillionTokens.value) : '–'),
];

const rateColumns = (currency: string): readonly Column[] => [
  ['instances for the rate', ({ forRate }) => (forRate ? formatFigure(forRate.instances) : '–')],
  [`hourly cost, ${currency}`, ({ forRate }) => (forRate ? formatFigure(forRate.perHour) : '–')],
];

/** Returns the costs on types of instances as a table; empty without any. */
export function instanceTypesTable(types: readonly InstanceTypeCost[], currency: string): Html {
  if (types.length === 0) return none;
  const isForRate = types.some(({ forRate }) => forRate !== undefined);
  const isOfTokens = types.some(({ perMillionTokens }) => perMillionTokens !== undefined);
  const columns: readonly Column[] = [
    ['instance type', ({ name }) => name],
    ['GPUs', ({ gpus }) => formatFigure(gpus)],
    [`hourly price, ${currency}`, ({ perHour }) => formatFigure(perHour)],
    ['replicas per instance', ({ holds }) => formatFigure(holds)],
    [`per million inferences, ${currency}`, ({ perMillion }) => formatFigure(perMillion.value)],
    ...(isOfTokens ? [tokensColumn(currency)] : []),
    ...(isForRate ? rateColumns(currency) : []),
  ];
  return html`${table({
    className: 'numbers instance-types',
    heads: columns.map(([head]) => head),
    rows: types.map((type) => columns.map(([, of]) => of(type))),
  })}
<p class="soft">An instance holds as many replicas as its GPUs allow. Each replica is assumed to serve as much as one that has an instance to itself.</p>`;
}
