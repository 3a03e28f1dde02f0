import type { CapacitySpec } from '../app/capacity/capacity-spec.ts';
import { capacityDefaults } from '../app/capacity/capacity-spec.ts';
import { type CapacityOutputs, prepareCapacity, writeCapacity } from '../app/capacity/documents.ts';
import { limitAsked, measureCapacity } from '../app/capacity/measure.ts';
import { openLanguage, openTriton } from '../app/capacity/targets.ts';
import { warnIfInsecure } from '../app/server/tls.ts';
import { TrituneError } from '../base/errors.ts';
import type { CapacityDocument } from '../capacity/document-schema.ts';
import type { CapacityEvent } from '../capacity/means.ts';
import { DEFAULT_DOCKER_IMAGE } from '../spec/server-spec.ts';

/**
 * What `capacity` takes: the options of `tritune capacity`, under the same names in camelCase, as values in place of texts: `latencyBudget` is in
 * milliseconds, `maxDuration` and `recoverWithin` in seconds, `burst` is `{ factor, seconds }`, shares are from 0 to 1. An option that is left out is as
 * on the command line, except that `protocol` is grpc. A language model is one that is asked by an `endpoint`.
 */
export type CapacityOptions = Partial<CapacitySpec> & CapacityOutputs & { readonly model: string };

/** Who watches; see `TuneWatch`. */
export interface CapacityWatch {
  /** Called with everything that is tried, in order. */
  readonly onEvent?: (event: CapacityEvent) => void;
  /** A line for people: what was assumed about the requests, a connection that is not verified. */
  readonly onNote?: (line: string) => void;
  /** Aborting ends the run: what was found until then is in the document. */
  readonly signal?: AbortSignal;
}

const usual = {
  ...capacityDefaults,
  batch: 1,
  protocol: 'grpc',
  requestTimeout: 30,
  seed: 1,
  dockerImage: DEFAULT_DOCKER_IMAGE,
} as const satisfies Partial<CapacitySpec>;

/**
 * `tritune capacity` without a terminal: finds the highest request rate that a served model keeps within its limit, what lies beyond it, and what else
 * is asked; writes the documents that `json` and `output` name. Resolves to the document, also where no rate keeps the limit (`outcome` is `infeasible`).
 * Errors: a TrituneError, such as USAGE or SERVER_UNREACHABLE; INTERRUPTED where the signal was aborted before a rate was tried.
 */
export async function capacity(
  { json, output, ...given }: CapacityOptions,
  { onEvent, onNote, signal = new AbortController().signal }: CapacityWatch = {},
): Promise<CapacityDocument> {
  const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const spec: CapacitySpec = { ...usual, ...asked };
  if (!spec.model) throw new TrituneError('USAGE', 'the model is missing', 'give its name as model');
  limitAsked(spec);
  const outputs = { ...(json !== undefined && { json }), ...(output !== undefined && { output }) };
  await prepareCapacity(outputs);
  const tell = (line: string): void => onNote?.(line);
  warnIfInsecure(spec, { tell });
  const target = await (spec.endpoint === undefined ? openTriton(spec, signal) : openLanguage(spec, signal));
  const watch = { tell, onEvent: (event: CapacityEvent) => onEvent?.(event), onProgress: () => undefined };
  try {
    const document = await measureCapacity(spec, target, { commandLine: [], watch }, signal);
    await writeCapacity(document, outputs);
    return document;
  } finally {
    await target.close();
  }
}
