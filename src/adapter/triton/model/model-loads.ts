import { isTrituneError, TrituneError } from '../../../base/errors.ts';
import { nsToMs } from '../../../base/units.ts';
import { onlyInstancesDiffer } from '../../../triton/config/comparison.ts';
import { composingModels } from '../../../triton/config/ensemble-rules.ts';
import type { ModelConfig } from '../../../triton/config/model-config.ts';
import { withRunMark } from '../../../triton/config/run-mark.ts';
import { LoadRefusedError } from '../../../triton/control/load-refused.ts';
import { readOtherConfigs } from '../../../triton/control/other-configs.ts';
import type { LoadCall, ModelFiles } from '../../../triton/types.ts';
import type { ControlClient, ModelLoadOptions, OriginalState } from './control-options.ts';

const POLL_MS = 50;
/**
 * After a load that the user ended, the next one is waited for at least this long, and at least
 * this many times the longest load that was seen.
 */
const MIN_WAIT_AFTER_INTERRUPT_MS = 30_000;
const LONGEST_LOADS_AFTER_INTERRUPT = 3;

/** The calls that load, unload and read one model; each ends when the server is done with it. */
export class ModelLoads {
  readonly model: string;
  readonly #client: ControlClient;
  readonly #original: ModelConfig;
  readonly #options: ModelLoadOptions;
  /** Whether the model loads with the mark of the run; null until that is known. */
  #takesMark: boolean | null = null;
  /** True if anything may have been changed, by this run or by one that was killed. */
  isTouched: boolean;
  /**
   * False if a load's end was not seen: it may still be in progress on the server, and swap the
   * model at any time.
   */
  isSettled: boolean;
  #longestLoadMs = 0;
  /** How long the last load had been waited for when a signal ended the wait; null if none did. */
  #interruptedAfterMs: number | null = null;

  constructor(client: ControlClient, { model, config }: OriginalState, options: ModelLoadOptions) {
    this.model = model;
    this.#original = config;
    this.#client = client;
    this.#options = options;
    this.isTouched = options.mayBeLoading ?? false;
    this.isSettled = !this.isTouched;
  }

  /**
   * Without a config, loads that of the repository. Errors: LOAD_REFUSED, MODEL_UNKNOWN,
   * MODEL_UNREADY, SERVER_*; the signal's reason.
   */
  async load(config?: ModelConfig, signal?: AbortSignal, files?: ModelFiles): Promise<void> {
    this.isTouched = true;
    const wasSettled = this.isSettled;
    this.isSettled = false;
    const call = { timeoutMs: this.#timeoutMs(), ...(signal && { signal }), ...(files && { files }) };
    const { clock } = this.#options;
    const startNs = clock.nowNs();
    try {
      await this.#send(config, call);
      this.#longestLoadMs = Math.max(this.#longestLoadMs, nsToMs(clock.nowNs() - startNs));
      this.#interruptedAfterMs = null;
    } catch (error) {
      if (signal?.aborted) this.#interruptedAfterMs = nsToMs(clock.nowNs() - startNs);
      // A refusal ends the load: the previous version is still served, even if the model is no
      // longer in the repository.
      if (isTrituneError(error, 'LOAD_REFUSED', 'MODEL_UNKNOWN')) this.isSettled = wasSettled;
      throw error;
    }
    await this.#until(() => this.#client.modelReady(this.model, signal ? { signal } : {}), 'become ready', signal);
  }

  /**
   * A load that the user ended goes on in the server, and the next one waits there until it is
   * over, which may be never. So the next one is not waited for longer than a load may well take.
   */
  #timeoutMs(): number {
    const { loadTimeoutMs } = this.#options;
    if (this.#interruptedAfterMs === null) return loadTimeoutMs;
    const usualMs = LONGEST_LOADS_AFTER_INTERRUPT * this.#longestLoadMs;
    return Math.min(loadTimeoutMs, Math.max(MIN_WAIT_AFTER_INTERRUPT_MS, this.#interruptedAfterMs, usualMs));
  }

  /**
   * Sends the config, marked. The original and what differs from it in instance counts only have no
   * mark: Triton would load the model anew for it. A model whose code stops at a parameter that it
   * does not know is loaded without the mark.
   */
  async #send(config: ModelConfig | undefined, call: LoadCall): Promise<void> {
    const { mark } = this.#options;
    if (!config || !mark || this.#takesMark === false || onlyInstancesDiffer(this.#original, config))
      return this.#client.load(this.model, config, call);
    try {
      await this.#client.load(this.model, withRunMark(config, mark), call);
      this.#takesMark = true;
    } catch (error) {
      const mayBeTheMark = error instanceof LoadRefusedError && error.kind === 'init-failed';
      if (!mayBeTheMark || this.#takesMark === true) throw error;
      await this.#client.load(this.model, config, call);
      this.#takesMark = false;
    }
  }

  /**
   * The unload continues after the server's reply; the index shows when it is done. Errors:
   * MODEL_UNREADY, SERVER_*.
   */
  async unload(signal?: AbortSignal): Promise<void> {
    this.isTouched = true;
    await this.#client.unload(this.model);
    const isGone = async (): Promise<boolean> => {
      const entries = (await this.#client.index()).filter((entry) => entry.name === this.model);
      return entries.every((entry) => entry.state === 'UNAVAILABLE' || entry.state === '');
    };
    await this.#until(isGone, 'unload', signal);
  }

  /** Errors: MODEL_UNKNOWN, MODEL_UNREADY for a model that is not loaded, SERVER_*. */
  config(signal?: AbortSignal): Promise<ModelConfig> {
    return this.#client.modelConfig(this.model, signal ? { signal } : {});
  }

  /** Returns null if the model is not loaded. */
  async configIfLoaded(signal?: AbortSignal): Promise<ModelConfig | null> {
    try {
      return await this.config(signal);
    } catch (error) {
      if (isTrituneError(error, 'MODEL_UNKNOWN', 'MODEL_UNREADY')) return null;
      throw error;
    }
  }

  /**
   * The index lists the models that a load can find: it omits a served model without a directory.
   */
  async isInRepository(): Promise<boolean> {
    return (await this.#client.index()).some((entry) => entry.name === this.model);
  }

  /** True if it is served, a load would find it again, and no served ensemble would lose it. */
  async canBeAway(): Promise<boolean> {
    const served = (await this.#client.index()).filter(({ state }) => state === 'READY').map(({ name }) => name);
    if (!served.includes(this.model)) return false;
    const others = served.filter((name) => name !== this.model);
    const { configs, unreadable, unread } = await readOtherConfigs(this.#client, others);
    // A model with an unreadable config may be an ensemble over this one.
    if (unreadable.size > 0 || unread.length > 0) return false;
    return Object.values(configs).every((each) => !composingModels(each).includes(this.model));
  }

  async #until(holds: () => Promise<boolean>, what: string, signal?: AbortSignal): Promise<void> {
    const { clock, settleTimeoutMs } = this.#options;
    const startNs = clock.nowNs();
    while (!(await holds())) {
      if (nsToMs(clock.nowNs() - startNs) > settleTimeoutMs) {
        throw new TrituneError(
          'MODEL_UNREADY',
          `'${this.model}' did not ${what} within ${settleTimeoutMs / 1e3} s`,
          'read the log of the server',
        );
      }
      await clock.sleep(POLL_MS, signal);
    }
  }
}
