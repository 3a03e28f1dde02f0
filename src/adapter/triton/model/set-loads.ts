import { compareConfigs, onlyInstancesDiffer } from '../../../triton/config/comparison.ts';
import type { ModelFiles } from '../../../triton/types.ts';
import { CandidateRefusedError } from '../../../tuner/refused.ts';
import { inChangeOrder, lowered, type Target } from './change-order.ts';
import type { LoadOptions } from './control-options.ts';
import type { Change, ControlledModel } from './controlled-model.ts';

/** What a candidate sets: models, and the ensembles over them, inner ones first. */
export interface SetTargets {
  readonly members: readonly Target[];
  readonly ensembles: readonly Target[];
}

export type FilesOf = () => Promise<ModelFiles | undefined>;

/** Loads several models as one, in an order that keeps every ensemble served. */
export class SetLoads {
  readonly #models: readonly ControlledModel[];
  readonly #ensembles: readonly ControlledModel[];
  readonly #mayUnload: boolean;
  /** Those that the candidate leaves alone. */
  #idle: readonly ControlledModel[] = [];
  /** A model was loaded and the ensembles were not, yet. */
  #isStale = false;

  constructor(
    models: readonly ControlledModel[],
    ensembles: readonly ControlledModel[],
    { mayUnload = false }: Pick<LoadOptions, 'mayUnload'>,
  ) {
    this.#models = models;
    this.#ensembles = ensembles;
    this.#mayUnload = mayUnload;
  }

  /**
   * Brings the models to these configs; where one is refused and there are ensembles, all back to those from before. Errors: as
   * `ControlledModel.apply`.
   */
  async bring(targets: SetTargets, files: FilesOf, signal: AbortSignal): Promise<readonly Change[]> {
    const [members, ensembles] = [targets.members.map(asSent), targets.ensembles.map(asSent)];
    const changing = [...members, ...ensembles].map(([model]) => model);
    this.#idle = this.#models.filter((model) => !changing.includes(model));
    try {
      return await this.#bringAll(targets, files, signal);
    } catch (error) {
      // What is left of a refused candidate must not leave an ensemble broken.
      if (error instanceof CandidateRefusedError && ensembles.length > 0)
        await this.#bringAll({ members, ensembles }, noFiles, signal).catch(ignoreRefusal);
      throw error;
    }
  }

  /** An ensemble has its models' largest batch before they do where it is smaller, and after them where it is larger: it is served all the time. */
  async #bringAll({ members, ensembles }: SetTargets, files: FilesOf, signal: AbortSignal): Promise<readonly Change[]> {
    const wasStale = this.#isStale;
    this.#isStale = true;
    const changes: Change[] = [];
    for (const [model, config] of lowered(ensembles)) changes.push(await model.renew(config, signal));
    changes.push(...(await this.#bringMembers(inChangeOrder(members), files, signal)));
    const isAsBefore = !wasStale && changes.every(({ change }) => change === 'none');
    for (const [model, config] of isAsBefore ? ensembles.filter(isOther) : ensembles)
      changes.push(await model.renew(config, signal));
    this.#isStale = false;
    return changes;
  }

  /** One that there is no memory for is tried once more when the others have their configs. */
  async #bringMembers([first, ...others]: readonly Target[], files: FilesOf, signal: AbortSignal): Promise<Change[]> {
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
   * What does not fit beside the models that the candidate leaves alone, or beside what it takes the place of, has them unloaded first, where that
   * is allowed. A model that is reloaded cannot be away while an ensemble over it is served.
   */
  async #applyOne([model, config]: Target, files: FilesOf, signal: AbortSignal): Promise<Change> {
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

/** The same model with what it was sent last. */
const asSent = ([model]: Target): Target => [model, model.sent];

/** Tells whether a model was sent another config last. */
const isOther = ([{ sent }, config]: Target): boolean => compareConfigs(sent, config).length > 0;

const noFiles: FilesOf = async () => undefined;

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof CandidateRefusedError && error.kind === 'out-of-memory';

/** Errors: all but a refusal, after which the next candidate, or the end, brings the models back. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof CandidateRefusedError)) throw error;
}
