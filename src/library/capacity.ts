import type { CapacitySpec } from '../app/capacity/capacity-spec.ts';
import { capacityDefaults } from '../app/capacity/capacity-spec.ts';
import { type CapacityOutputs, prepareCapacity, writeCapacity } from '../app/capacity/documents.ts';
import { limitAsked, measureCapacity } from '../app/capacity/measure.ts';
import { openCapacity } from '../app/capacity/open-capacity.ts';
import { combinationOfService } from '../app/profile/services/combination-of-service.ts';
import { serviceKindOf } from '../app/profile/services/kind-of.ts';
import { afterRestoring } from '../app/restore/restore-first.ts';
import { withProtocol } from '../app/server/find-protocol.ts';
import { warnIfInsecure } from '../app/server/tls.ts';
import { TrituneError } from '../base/errors.ts';
import { lookUp } from '../base/look-up.ts';
import type { CapacityDocument } from '../capacity/document-schema.ts';
import type { CapacityEvent } from '../capacity/means.ts';
import { checkCombination } from '../spec/combinations.ts';
import { DEFAULT_DOCKER_IMAGE } from '../spec/server-spec.ts';

/**
 * The options of `tritune capacity`, with the same names in camelCase, as values instead of texts.
 * `latencyBudget` is in milliseconds, `timeBudget` and `recoverWithin` in seconds, `burst` is
 * `{ factor, seconds }`, shares are from 0 to 1. Defaults are those of the command line. Set
 * `endpoint` for a language model, and `serviceKind: 'http'` for any URL.
 */
export type CapacityOptions = Partial<CapacitySpec> &
  CapacityOutputs & { readonly model: string; readonly serviceKind?: 'triton' | 'http' | 'openai' };

/** Callbacks and the signal of a run; see `TuneWatch`. */
export interface CapacityWatch {
  /** Called with each event, in order. */
  readonly onEvent?: (event: CapacityEvent) => void;
  /**
   * Called with messages for people, such as assumptions about the requests or an unverified
   * connection.
   */
  readonly onNote?: (line: string) => void;
  /** Aborting ends the run; the document has the results so far. */
  readonly signal?: AbortSignal;
}

/** Names of the release before, which work once more. */
const formerNames: Readonly<Record<string, string>> = { maxDuration: 'timeBudget', chance: 'holdChance' };

const usual = {
  ...capacityDefaults,
  batch: 1,
  requestTimeout: 30,
  seed: 1,
  dockerImage: DEFAULT_DOCKER_IMAGE,
} as const satisfies Partial<CapacitySpec>;

/**
 * Runs `tritune capacity` without a terminal: finds the highest request rate at which a served
 * model keeps its limit, what happens beyond it, and whatever else the options ask. Writes the
 * documents that `json` and `output` name. Resolves to the document, also if no rate keeps the
 * limit (`outcome` is `infeasible`). Errors: a TrituneError, such as USAGE or SERVER_UNREACHABLE;
 * INTERRUPTED if the signal was aborted before any rate was tried.
 */
export async function capacity(
  { json, output, serviceKind = 'triton', ...given }: CapacityOptions,
  { onEvent, onNote, signal = new AbortController().signal }: CapacityWatch = {},
): Promise<CapacityDocument> {
  const asked = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const now = lookUp(formerNames, name);
      if (now !== undefined) onNote?.(`${name} is now ${now}, and will go`);
      return value === undefined ? [] : [[now ?? name, value]];
    }),
  );
  const checked: CapacitySpec = { protocol: 'grpc', ...usual, ...asked };
  if (!checked.model) throw new TrituneError('USAGE', 'the model is missing', 'give its name as model');
  limitAsked(checked);
  const kind = serviceKindOf({ serviceKind, endpoint: checked.endpoint });
  checkCombination(combinationOfService('capacity', kind, checked));
  const spec =
    kind === 'triton'
      ? await withProtocol<CapacitySpec>({ ...checked, protocol: given.protocol })
      : { ...checked, protocol: given.protocol ?? 'http' };
  const outputs = { ...(json !== undefined && { json }), ...(output !== undefined && { output }) };
  await prepareCapacity(outputs);
  const tell = (line: string): void => onNote?.(line);
  warnIfInsecure(spec, { tell });
  const target = await afterRestoring(spec, tell, () => openCapacity(kind, spec, { signal, tell }));
  const watch = { tell, onEvent: (event: CapacityEvent) => onEvent?.(event), onProgress: () => undefined };
  try {
    const document = await measureCapacity(spec, target, { commandLine: [], watch }, signal);
    await writeCapacity(document, outputs);
    return document;
  } finally {
    await target.close();
  }
}
