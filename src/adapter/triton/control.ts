import { isTrituneError } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import { nsToMs } from '#base/units.ts';
import { toArtifact } from '#space/artifact.ts';
import { toModelConfig, toModelConfigs } from '#space/model-configs.ts';
import type { Candidate } from '#space/types.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import { LoadRefusedError } from '#triton/control/load-refused.ts';
import type { ModelFiles } from '#triton/types.ts';
import type { Applied, Control, Restored } from '#tuner/adapter.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import type { Artifacts, PreparedFiles } from '../variants/artifacts.ts';
import { checkUpload } from '../variants/upload.ts';
import { findMisfit, type IntendedConfig } from './change-order.ts';
import type { ControlClient, ModelLoadOptions, OriginalState } from './control-options.ts';
import { type AppliedChange, ControlledModel } from './controlled-model.ts';
import { restoreFailed } from './model-words.ts';
import { SetLoads } from './set-loads.ts';

export interface ControlOptions extends ModelLoadOptions {
  /** How long a failed restore is retried; default 20 s. */
  readonly maxOutageMs?: number;
  /** The files of variants; absent if none is used. */
  readonly artifacts?: Artifacts;
}

const FIRST_RESTORE_WAIT_MS = 500;
const LONGEST_RESTORE_WAIT_MS = 8_000;
const DEFAULT_OUTAGE_MS = 20_000;
const REACH_TIMEOUT_MS = 2_000;

/**
 * Controls a set of models of one server. A candidate changes the models that it has configs of,
 * and leaves the others as they are; ensembles are loaded last, after their models. At the end
 * every model is as in `originals`, which lists inner ensembles before outer ones.
 */
export function createControl(
  client: ControlClient,
  originals: readonly OriginalState[],
  options: ControlOptions,
): Control {
  return new SetControl(client, originals, options);
}

class SetControl implements Control {
  readonly #client: ControlClient;
  readonly #options: ControlOptions;
  readonly #models: readonly ControlledModel[];
  readonly #ensembles: readonly ControlledModel[];
  readonly #loads: SetLoads;
  /**
   * The models that the last candidate has configs of, and the ensembles; all models before the
   * first.
   */
  #applied: readonly ControlledModel[];

  constructor(client: ControlClient, originals: readonly OriginalState[], options: ControlOptions) {
    this.#client = client;
    this.#options = options;
    this.#models = originals.map((original) => new ControlledModel(client, original, options));
    this.#ensembles = this.#models.filter(({ original }) => composingModels(original.config).length > 0);
    this.#loads = new SetLoads(this.#models, this.#ensembles, options);
    this.#applied = this.#models;
  }

  async apply(candidate: Candidate, signal: AbortSignal): Promise<Applied> {
    const configs = toModelConfigs(candidate);
    const members = Object.entries(configs)
      .map(([name, config]): IntendedConfig => [this.#findModel(name), config])
      .filter(([model]) => !this.#ensembles.includes(model));
    const ensembles = this.#ensembles.map(
      (model): IntendedConfig => [model, lookUp(configs, model.name) ?? model.original.config],
    );
    this.#applied = [...members.map(([model]) => model), ...this.#ensembles];
    const misfit = findMisfit(members, ensembles);
    if (misfit !== null) throw new CandidateRefusedError('invalid-config', misfit);
    const prepared: { files?: PreparedFiles | null } = {};
    const files = async (): Promise<ModelFiles | undefined> => {
      prepared.files ??= await this.#prepareFiles(candidate, signal);
      return prepared.files?.files;
    };
    const changes = await this.#loads.bring({ members, ensembles }, files, signal);
    const buildMs = prepared.files?.buildMs ?? 0;
    return { candidate, ...inAll(changes), ...(buildMs > 0 && { buildMs }) };
  }

  /** A config without a name of the set belongs to its only model. */
  #findModel(name: string): ControlledModel {
    const [first, ...others] = this.#models;
    const model = this.#models.find((each) => each.name === name) ?? (others.length === 0 ? first : undefined);
    if (model) return model;
    throw new RangeError(`'${name}' is not among the models that are controlled`);
  }

  /**
   * Returns the upload with the config of the candidate's only model; null for files that the
   * server has.
   */
  async #prepareFiles(candidate: Candidate, signal: AbortSignal): Promise<PreparedFiles | null> {
    const artifact = toArtifact(candidate);
    if (!artifact) return null;
    const { artifacts } = this.#options;
    if (!artifacts) throw new RangeError('a control without artifacts applies no variant');
    const prepared = await artifacts.prepareFiles(artifact, signal);
    checkUpload(prepared.files, toModelConfig(candidate));
    return prepared;
  }

  async changed(signal: AbortSignal): Promise<string | null> {
    for (const model of this.#applied) {
      const what = await model.changed(signal);
      if (what !== null) return this.#models.length === 1 ? what : `'${model.name}': ${what}`;
    }
    return null;
  }

  async isReachable(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#client.index({ signal, timeoutMs: REACH_TIMEOUT_MS });
      return true;
    } catch (error) {
      // Any other error is an answer.
      return !isTrituneError(error, 'SERVER_UNREACHABLE', 'SERVER_TIMEOUT', 'INTERRUPTED');
    }
  }

  async restore(): Promise<Restored> {
    const { clock, maxOutageMs = DEFAULT_OUTAGE_MS } = this.#options;
    const startNs = clock.nowNs();
    const back = new Map<ControlledModel, Restored>();
    const restored = (): Restored[] => this.#models.flatMap((model) => back.get(model) ?? []);
    for (let waitMs = FIRST_RESTORE_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_RESTORE_WAIT_MS)) {
      const failures = await this.#putBack(back);
      if (failures.size === 0) return together(restored());
      // A load that took all its time is not sent again: it would wait in the server behind the
      // hanging one.
      if (nsToMs(clock.nowNs() - startNs) + waitMs > maxOutageMs) throw restoreFailed(failures, restored());
      await clock.sleep(waitMs);
    }
  }

  /**
   * If there is no memory for the original besides the served models, unloads the study's own
   * ensembles that use it first; they come back afterwards.
   */
  async #putBackOne(model: ControlledModel, back: Map<ControlledModel, Restored>): Promise<Restored> {
    try {
      return await model.putBack();
    } catch (error) {
      const isShort = error instanceof LoadRefusedError && error.kind === 'out-of-memory';
      if (!isShort || this.#ensembles.length === 0) throw error;
      for (const ensemble of this.#ensembles.toReversed()) {
        await ensemble.makeWay();
        back.delete(ensemble);
      }
      return model.putBack();
    }
  }

  /** Tries each model that is not restored yet. Returns why some still are not. */
  async #putBack(back: Map<ControlledModel, Restored>): Promise<ReadonlyMap<string, unknown>> {
    const failures = new Map<string, unknown>();
    const members = this.#models.filter((model) => !this.#ensembles.includes(model));
    const inOrder = [...members, ...this.#ensembles];
    const isKept = ({ original: { wasLoaded } }: ControlledModel): boolean => wasLoaded;
    // Unloads make room for loads. An ensemble goes before its models and comes back after them.
    const goFirst = inOrder.filter((model) => !isKept(model)).toReversed();
    for (const model of [...goFirst, ...inOrder.filter(isKept)]) {
      if (back.has(model)) continue;
      try {
        back.set(model, await this.#putBackOne(model, back));
      } catch (error) {
        failures.set(model.name, error);
      }
    }
    return failures;
  }
}

const GREATEST_FIRST = ['full', 'in-place', 'none'] as const;

/** Returns the greatest of the changes. */
export const greatestChange = (changes: readonly Pick<AppliedChange, 'change'>[]): AppliedChange['change'] =>
  GREATEST_FIRST.find((kind) => changes.some(({ change }) => change === kind)) ?? 'none';

/** The greatest of the changes, and the total time of all loads. */
const inAll = (changes: readonly AppliedChange[]): AppliedChange => ({
  change: greatestChange(changes),
  loadMs: changes.reduce((sum, { loadMs }) => sum + loadMs, 0),
});

/** Returns the change of the first that was not left alone, and the state of each. */
export const together = (restored: readonly Restored[]): Restored => ({
  how: restored.find(({ how }) => how !== 'nothing-changed')?.how ?? 'nothing-changed',
  verified: restored.every(({ verified }) => verified),
  detail: restored.map(({ detail }) => detail).join('; '),
});
