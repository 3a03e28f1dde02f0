import { formatFigure, formatRatio } from '#base/format.ts';
import type { ClientChange } from '#space/client-changes.ts';
import type { StartedClients, StudyStarted } from '../records/records.ts';
import type { SmallerBatch } from './summary-schema.ts';

/**
 * Returns what the search leaves out so that clients are served as before, one line for each model;
 * empty if nothing.
 */
export const describeClients = ({
  clients = [],
  topology,
}: Pick<StudyStarted, 'clients' | 'topology'>): readonly string[] =>
  clients.flatMap((each) =>
    each.leftOut.length === 0 && each.basis !== 'counters'
      ? []
      : [`${topology ? `${each.model}: ` : ''}${leftOutText(each)}`],
  );

function leftOutText({ leftOut, original, largest, basis, requests = 0 }: StartedClients): string {
  if (basis === 'counters')
    return `max_batch_size may be below the original's ${original}: the server counted ${formatFigure(requests)} requests of clients, each with one sample (--client-batch ${original} if some send more)`;
  const values = `max_batch_size ${rangeText(leftOut)} ${leftOut.length === 1 ? 'is' : 'are'} left out`;
  return basis === 'option'
    ? `${values}: clients send up to ${largest} samples in a request (--client-batch)`
    : `${values}: below the original's ${original}, which clients may use (--client-batch N if they send at most N samples)`;
}

/** `1, 2` or `1 to 32`. */
const rangeText = (values: readonly number[]): string =>
  values.length <= 3 ? values.join(', ') : `${values[0]} to ${values.at(-1)}`;

/**
 * `head: clients may send 2 samples in a request at most (64 before)`; without the model's name if
 * it is the study's only one.
 */
export const describeClientChange = ({ model, text }: ClientChange, studied: string): string =>
  model === studied ? text : `${model}: ${text}`;

/** `max_batch_size 4 would give 1.30× as much (predicted), but clients may send 16 samples …`. */
export const describeSmallerBatch = ({ model, maxBatchSize, ratio }: SmallerBatch, studied: string): string =>
  `${model === studied ? '' : `${model}: `}max_batch_size ${maxBatchSize} would give ${formatRatio(ratio)} as much (predicted): --client-batch ${maxBatchSize} if clients send no more in a request`;
