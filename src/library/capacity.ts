import { prepareCapacity, writeCapacity } from '#app/capacity/documents.ts';
import { measureCapacity, readLimit } from '#app/capacity/measure.ts';
import { openCapacity } from '#app/capacity/open-capacity.ts';
import { combinationOfService } from '#app/profile/combination-of-service.ts';
import { toServiceKind } from '#app/profile/kind-of-service.ts';
import { afterRestoring } from '#app/restore-first.ts';
import { withProtocol } from '#app/server/find-protocol.ts';
import { warnIfInsecure } from '#app/server/tls.ts';
import { TrituneError } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import type { CapacityDocument } from '#capacity/document-schema.ts';
import type { CapacityEvent } from '#capacity/means.ts';
import { type CapacityOutputs, type CapacitySpec, capacityOptions } from '#spec/capacity-spec.ts';
import { checkCombination } from '#spec/combinations.ts';
import { filledOptions } from '#spec/flat-options.ts';
import { DEFAULT_DOCKER_IMAGE } from '#spec/server-spec.ts';

/**
 * The options of `tritune capacity`, with the same names in camelCase, as values instead of texts.
 * `latencyBudget` is in milliseconds, `timeBudget` and `recoverWithin` in seconds, `burst` is
 * `{ factor, seconds }`; `holdChance`, `headroom` and `replicaSpread` are in per cent. Defaults are
 * those of the command line. Set `endpoint` for a language model, and `serviceKind: 'http'` for any
 * URL.
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

const PERCENTAGES: readonly string[] = ['holdChance', 'headroom', 'replicaSpread'];

/** Names of the release before, which work once more. */
const formerNames: Readonly<Record<string, string>> = { maxDuration: 'timeBudget', chance: 'holdChance' };

/** Percentages were shares before. Errors: USAGE for what may be a share. */
function inPercent(name: string, value: unknown): unknown {
  if (!PERCENTAGES.includes(name) || typeof value !== 'number' || value <= 0 || value >= 1) return value;
  throw new TrituneError('USAGE', `${name} is in per cent, and ${value} may be a share`, `give ${100 * value}`);
}

/**
 * Runs `tritune capacity` without a terminal: finds the highest request rate at which a served
 * model keeps its limit, what happens beyond it, and whatever else the options ask. Writes the
 * documents that `json` and `output` name. Resolves to the document, also if no rate keeps the
 * limit (`outcome` is `infeasible`). Errors: a TrituneError, such as USAGE or SERVER_UNREACHABLE;
 * INTERRUPTED if the signal was aborted before any rate was tried.
 */
export async function capacity(
  { json, output, serviceKind = 'triton', ...rest }: CapacityOptions,
  { onEvent, onNote, signal = new AbortController().signal }: CapacityWatch = {},
): Promise<CapacityDocument> {
  const options = Object.fromEntries(
    Object.entries(rest).flatMap(([name, value]) => {
      const now = lookUp(formerNames, name);
      if (now !== undefined) onNote?.(`${name} is now ${now}, and will go`);
      return value === undefined
        ? []
        : [[now ?? name, name === 'chance' ? 100 * Number(value) : inPercent(name, value)]];
    }),
  );
  const checked = filledOptions<Omit<CapacitySpec, 'protocol'>>(
    { dockerImage: DEFAULT_DOCKER_IMAGE, ...options },
    capacityOptions,
  );
  if (!checked.model) throw new TrituneError('USAGE', 'the model is missing', 'give its name as model');
  readLimit(checked);
  const kind = toServiceKind({ serviceKind, endpoint: checked.endpoint });
  checkCombination(combinationOfService('capacity', kind, checked));
  const spec =
    kind === 'triton'
      ? await withProtocol<CapacitySpec>({ ...checked, protocol: rest.protocol })
      : { ...checked, protocol: rest.protocol ?? 'http' };
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
