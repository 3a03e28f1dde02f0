import { ProtocolFailure } from '../wire/protocol-failure.ts';

/** A request's information about its sequence. */
export interface SequenceMark {
  /** Key of the correlation id; a number and a text never share one. */
  readonly key: string;
  /** The correlation id for people. */
  readonly id: string;
  readonly start: boolean;
  readonly end: boolean;
}

/**
 * Returns the mark in a request's parameters; null if they name no sequence: 0 and '' are not
 * correlation ids. Throws INVALID_ARGUMENT for an id that is neither a number nor a text.
 */
export function sequenceIn(parameters: { readonly [name: string]: unknown } | undefined): SequenceMark | null {
  const id = parameters?.sequence_id;
  if (id === undefined || id === null || id === '' || id === 0) return null;
  if (typeof id !== 'number' && typeof id !== 'string')
    throw new ProtocolFailure(
      'INVALID_ARGUMENT',
      "invalid value type for 'sequence_id' parameter, expected a number or a string",
    );
  const key = typeof id === 'number' ? `number ${id}` : `text ${String(id)}`;
  return { key, id: String(id), start: parameters?.sequence_start === true, end: parameters?.sequence_end === true };
}
