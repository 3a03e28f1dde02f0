import { z } from 'zod';
import { type FlatDocument, fieldAt, placesIn, unwrapped } from '#spec/flat-options.ts';
import type { OptionRow, OptionTable } from './option-table.ts';
import {
  collect,
  durationSeconds,
  latencyMs,
  milliseconds,
  numberFrom,
  percent,
  positiveNumber,
  positiveRange,
  positiveWhole,
  share,
  wholeNumber,
  wholeRange,
} from './option-values.ts';

type Row = OptionRow<unknown>;
type Reader = NonNullable<Row['parse']>;

/**
 * Returns the table with what its rows leave to the document that they fill: how a text is read and
 * what it may be, the choices, and the default. A row that says another default in its help has
 * none, nor has one of a section that a document may lack.
 */
export function filledBy<O>({ schema, names }: FlatDocument, table: OptionTable<O>): OptionTable<O> {
  const places = placesIn(schema, names);
  const rows = (Object.entries(table) as [string, Row][]).map(([key, row]) => {
    const place = places.get(key);
    const field = place && fieldAt(schema, place);
    if (!place || !field) return [key, row];
    const isOfMaybe = place.length === 2 && schema.shape[place[0]] instanceof z.ZodOptional;
    const { choices, ...rest } = fromField(place.at(-1) ?? '', field, isOfMaybe || row.help.includes('(default:'));
    return [key, { ...(choices && !row.parse && { choices }), ...rest, ...row }];
  });
  return Object.fromEntries(rows) as unknown as OptionTable<O>;
}

function fromField(name: string, field: z.core.$ZodType, hasOtherDefault: boolean): Partial<Row> {
  const inner = unwrapped(field);
  const usual = field instanceof z.ZodDefault && !hasOtherDefault ? field.def.defaultValue : undefined;
  return {
    ...(inner instanceof z.ZodEnum && { choices: inner.options.map(String) }),
    ...readBy(name, inner),
    ...(usual !== undefined && !Array.isArray(usual) && { default: usual }),
  };
}

function readBy(name: string, field: z.core.$ZodType): { readonly parse?: Reader } {
  if (field instanceof z.ZodNumber) return { parse: numberReader(name, field) };
  if (field instanceof z.ZodArray && field.element instanceof z.ZodString) return { parse: collect as Reader };
  if (field instanceof z.ZodObject && Object.keys(field.shape).join() === 'low,high')
    return { parse: field.shape.low instanceof z.ZodNumberFormat ? wholeRange : positiveRange };
  return {};
}

/** The unit of a number stands in its field's name. */
function numberReader(name: string, field: z.ZodNumber): (text: string) => number {
  const [isWhole, most] = [field instanceof z.ZodNumberFormat, field.maxValue ?? Number.POSITIVE_INFINITY];
  const mayBe0 = field.safeParse(0).success;
  if (name.endsWith('Seconds')) return durationSeconds;
  if (name.endsWith('Ms')) return isWhole ? milliseconds : latencyMs;
  if (name.endsWith('Percent') && most <= 100) return percent(field.minValue ?? 0, most);
  if (name.endsWith('Percent')) return (text) => positiveNumber(text.replace(/ *%$/, ''));
  if (isWhole) return mayBe0 ? wholeNumber : positiveWhole;
  if (most === 1) return share;
  return mayBe0 ? numberFrom(field.minValue ?? 0) : positiveNumber;
}
