import { compareConfigs, onlyInstancesDiffer } from '#triton/config/comparison.ts';
import type { ModelFiles } from '#triton/types.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import { type IntendedConfig, inChangeOrder, lowered } from './change-order.ts';
import type { ModelLoadOptions } from './control-options.ts';
import type { AppliedChange, ControlledModel } from './controlled-model.ts';

/** The models that a candidate sets, and the ensembles that use them, inner ones first. */
export interface SetTargets {
  readonly members: readonly IntendedConfig[];
  readonly ensembles: readonly IntendedConfig[];
}

export type FilesOf = () => Promise<ModelFiles | undefined>;

/** Loads several models as one, in an order that keeps every ensemble served. */
export class SetLoads {
  readonly #models: readonly ControlledModel[];
  readonly #ensembles: readonly ControlledModel[];
  readonly #mayUnload: boolean;
  /** The models that the candidate leaves alone. */
  #idle: readonly ControlledModel[] = [];
  /** True if a model was loaded but the ensembles have not been yet. */
  #isStale = false;

  constructor(
    models: readonly ControlledModel[],
    ensembles: readonly ControlledModel[],
    { mayUnload = false }: Pick<ModelLoadOptions, 'mayUnload'>,
  ) {
    this.#models = models;
    this.#ensembles = ensembles;
    this.#mayUnload = mayUnload;
  }

  /**
   * Brings the models to these configs. If one is refused and there are ensembles, brings all back
   * to their previous configs. Errors: as `ControlledModel.apply`.
   */
  async bring(targets: SetTargets, files: FilesOf, signal: AbortSignal): Promise<readonly AppliedChange[]> {
    const [members, ensembles] = [targets.members.map(asSent), targets.ensembles.map(asSent)];
    const changing = [...members, ...ensembles].map(([model]) => model);
    this.#idle = this.#models.filter((model) => !changing.includes(model));
    try {
      return await this.#bringAll(targets, files, signal);
    } catch (error) {
      // The remains of a refused candidate must not break an ensemble.
      if (error instanceof CandidateRefusedError && ensembles.length > 0)
        await this.#bringAll({ members, ensembles }, noFiles, signal).catch(ignoreRefusal);
      throw error;
    }
  }

  /**
   * An ensemble gets its models' largest batch before they do if it is smaller, and after them if
   * it is larger, so that it is served all the time.
   */
  async #bringAll(
    { members, ensembles }: SetTargets,
    files: FilesOf,
    signal: AbortSignal,
  ): Promise<readonly AppliedChange[]> {
    const wasStale = this.#isStale;
    this.#isStale = true;
    const changes: AppliedChange[] = [];
    for (const [model, config] of lowered(ensembles)) changes.push(await model.renew(config, signal));
    changes.push(...(await this.#bringMembers(inChangeOrder(members), files, signal)));
    const isAsBefore = !wasStale && changes.every(({ change }) => change === 'none');
    for (const [model, config] of isAsBefore ? ensembles.filter(isOther) : ensembles)
      changes.push(await model.renew(config, signal));
    this.#isStale = false;
    return changes;
  }

  /** A model that does not fit into memory is tried again once the others have their configs. */
  async #bringMembers(
    [first, ...others]: readonly IntendedConfig[],
    files: FilesOf,
    signal: AbortSignal,
  ): Promise<AppliedChange[]> {
    if (!first) return [];
    if (others.length === 0) return [await this.#applyOne(first, files, signal)];
    const [model, config] = first;
    const change = await model.apply(config, files, signal).catch((error: unknown) => {
      if (isOutOfMemory(error)) return null;
      throw error;
    });
    const later = await this.#bringMembers(others, files, signal);
    return [...later, change ?? (await this.#applyOne(first, files, signal))];
  }

  /**
   * If a model does not fit into memory besides the models that the candidate leaves alone, or
   * besides its own previous version, unloads those first if allowed. A reloaded model cannot be
   * away while an ensemble that uses it is served.
   */
  async #applyOne([model, config]: IntendedConfig, files: FilesOf, signal: AbortSignal): Promise<AppliedChange> {
    try {
      return await model.apply(config, files, signal);
    } catch (error) {
      if (!isOutOfMemory(error) || !this.#mayUnload) throw error;
      let isRoom = false;
      const over = onlyInstancesDiffer(model.sent, config) ? [] : this.#ensembles.toReversed();
      for (const other of [...over, ...this.#idle]) isRoom = (await other.makeWay(signal)) || isRoom;
      if (!isRoom) throw error;
      return model.apply(config, files, signal);
    }
  }
}

/** Returns the same model with its last sent config. */
const asSent = ([model]: IntendedConfig): IntendedConfig => [model, model.sent];

/** True if the model's last sent config is a different one. */
const isOther = ([{ sent }, config]: IntendedConfig): boolean => compareConfigs(sent, config).length > 0;

const noFiles: FilesOf = async () => undefined;

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof CandidateRefusedError && error.kind === 'out-of-memory';

/**
 * Errors: all except a refusal, after which the next candidate, or the end, restores the models.
 */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof CandidateRefusedError)) throw error;
}
