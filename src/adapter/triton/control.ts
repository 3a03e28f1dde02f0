import type { Clock } from '../../base/clock.ts';
import { isTrituneError, messageOf, TrituneError } from '../../base/errors.ts';
import { canonicalJson } from '../../base/json.ts';
import { nsToMs } from '../../base/units.ts';
import { artifactOf } from '../../space/artifact.ts';
import { modelConfigOf } from '../../space/model-configs.ts';
import type { Candidate } from '../../space/types.ts';
import { type ConfigDifference, compareConfigs, onlyInstancesDiffer } from '../../triton/config/comparison.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import { LoadRefusedError } from '../../triton/control/load-refused.ts';
import type { ModelControl, ModelFiles, ServerHealth } from '../../triton/types.ts';
import type { Applied, Control, Restored } from '../../tuner/adapter.ts';
import { CandidateRefusedError } from '../../tuner/refused.ts';
import type { Artifacts, PreparedFiles } from './variants/artifacts.ts';
import { checkUpload, isUploadRefusal, uploadRefused } from './variants/upload.ts';

export interface ControlOptions {
  readonly clock: Clock;
  /** `config` sends the original config again, without an outage. `reload` unloads and loads from the repository, so that nothing of an override remains. */
  readonly restore: 'config' | 'reload';
  /** How long one load may take. */
  readonly loadTimeoutMs: number;
  /** How long a loaded model may take to become ready, and an unloaded one to go. */
  readonly settleTimeoutMs: number;
  /** So long a model that could not be put back is tried again; the default is 20 s. */
  readonly maxOutageMs?: number;
  /** No earlier run of the study has changed the model: until this one does, another config than the original is somebody else's. */
  readonly isNewStudy?: boolean;
  /** A candidate that does not fit beside what is served may have it unloaded first: nobody else uses the model. */
  readonly mayUnload?: boolean;
  /** The files of variants; absent where none is applied. */
  readonly artifacts?: Artifacts;
  /** A run that was killed may have left a load under way, which swaps the model when it ends. */
  readonly mayBeLoading?: boolean;
}

export type ControlClient = ModelControl & Pick<ServerHealth, 'modelReady'>;

const POLL_MS = 50;
const FIRST_RESTORE_WAIT_MS = 500;
const LONGEST_RESTORE_WAIT_MS = 8_000;
const DEFAULT_OUTAGE_MS = 20_000;
const REACH_TIMEOUT_MS = 2_000;

/**
 * Model control over one server. `originalConfig` is what the server had before the first change, by an earlier run of
 * the study too; `wasLoaded` is false for a model that was not loaded then, and is unloaded at the end.
 */
export function createControl(
  client: ControlClient,
  model: string,
  originalConfig: ModelConfig,
  wasLoaded: boolean,
  options: ControlOptions,
): Control {
  return new ServerControl(client, model, originalConfig, wasLoaded, options);
}

class ServerControl implements Control {
  readonly #client: ControlClient;
  readonly #model: string;
  readonly #original: ModelConfig;
  readonly #wasLoaded: boolean;
  readonly #options: ControlOptions;
  /** The config sent last, and what the server then said it has: defaults and auto-completed fields make them differ. */
  #serving: { readonly sent: ModelConfig; readonly read: ModelConfig };
  /** The served config and another one, as texts, for which there is no memory at once. */
  readonly #tooMuch = new Set<string>();
  #touched: boolean;
  /** False while a load's end was not seen: it may still be under way on the server, and swap the model at any time. */
  #isSettled: boolean;

  constructor(
    client: ControlClient,
    model: string,
    original: ModelConfig,
    wasLoaded: boolean,
    options: ControlOptions,
  ) {
    this.#client = client;
    this.#model = model;
    this.#original = original;
    this.#wasLoaded = wasLoaded;
    this.#options = options;
    this.#serving = { sent: original, read: original };
    this.#touched = options.mayBeLoading ?? false;
    this.#isSettled = !this.#touched;
  }

  async apply(candidate: Candidate, signal: AbortSignal): Promise<Applied> {
    const current = await this.#readConfig(signal);
    if (this.#isOthers(current)) throw changedByOthers(this.#model);
    const known = this.#isSettled && current !== null && equal(current, this.#serving.read);
    const asked = modelConfigOf(candidate);
    if (known && equal(asked, this.#serving.sent)) return { candidate, change: 'none', loadMs: 0 };
    const change = known && onlyInstancesDiffer(this.#serving.sent, asked) ? 'in-place' : 'full';
    const { files, buildMs } = await this.#filesOf(candidate, signal);
    const loadNs = this.#options.clock.nowNs();
    const mayUnload = change === 'full' && this.#options.mayUnload === true;
    await (mayUnload ? this.#loadWithRoom(asked, signal, files) : this.#load(asked, signal, files)).catch(
      refused(files),
    );
    const read = await this.#client.modelConfig(this.#model, { signal });
    this.#serving = { sent: asked, read };
    this.#isSettled = true;
    // A field that only the config read back has is one that the server filled in.
    const differences = compareConfigs(asked, read).filter((difference) => difference.before !== undefined);
    if (differences.length > 0) throw mismatch(this.#model, differences);
    const loadMs = nsToMs(this.#options.clock.nowNs() - loadNs);
    return { candidate, change, loadMs, ...(buildMs > 0 && { buildMs }) };
  }

  /** What is uploaded with the candidate's config: nothing for files that the server has. */
  async #filesOf(candidate: Candidate, signal: AbortSignal): Promise<Partial<PreparedFiles> & { buildMs: number }> {
    const artifact = artifactOf(candidate);
    if (!artifact) return { buildMs: 0 };
    const { artifacts } = this.#options;
    if (!artifacts) throw new RangeError('a control without artifacts applies no variant');
    const prepared = await artifacts.filesOf(artifact, signal);
    checkUpload(prepared.files, modelConfigOf(candidate));
    return prepared;
  }

  async changed(signal: AbortSignal): Promise<string | null> {
    const current = await this.#readConfig(signal);
    if (current === null) return 'it is not loaded any more';
    const differences = compareConfigs(this.#serving.read, current);
    return differences.length === 0 ? null : inWords(differences);
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
    for (let waitMs = FIRST_RESTORE_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_RESTORE_WAIT_MS)) {
      try {
        const restored = await this.#putBack();
        this.#touched = false;
        this.#isSettled = true;
        return restored;
      } catch (error) {
        // A load that took all its time is not sent once more: it waits in the server behind the one that hangs there.
        if (nsToMs(clock.nowNs() - startNs) + waitMs > maxOutageMs) throw restoreFailed(this.#model, error);
        await clock.sleep(waitMs);
      }
    }
  }

  async #putBack(): Promise<Restored> {
    if (!this.#wasLoaded) return this.#unloadAgain();
    const current = await this.#readConfig();
    // After a change the original is sent even if it seems to be there: a load that timed out may still be under way.
    if (!this.#touched && current && equal(current, this.#original)) {
      return { how: 'nothing-changed', verified: true, detail: `'${this.#model}' has its original config` };
    }
    if (this.#isOthers(current)) {
      const detail = `somebody else has changed '${this.#model}' meanwhile; this run has not, and leaves it so`;
      return { how: 'nothing-changed', verified: false, detail };
    }
    // What is not in the repository any more would be unloaded for good.
    const isReload = this.#options.restore === 'reload' && (await this.#isInRepository());
    if (isReload && (await this.#reload())) {
      return { how: 'reload', verified: true, detail: `'${this.#model}' was loaded again from its repository` };
    }
    try {
      await this.#loadWithRoom(this.#original);
    } catch (error) {
      const isThere = this.#isSettled && current !== null && equal(current, this.#original);
      if (isThere && isTrituneError(error, 'MODEL_UNKNOWN')) return keptWithoutRepository(this.#model);
      throw error;
    }
    const differences = compareConfigs(this.#original, await this.#client.modelConfig(this.#model));
    if (differences.length > 0) throw mismatch(this.#model, differences);
    this.#serving = { sent: this.#original, read: this.#original };
    return { how: 'config', verified: true, detail: `'${this.#model}' has its original config again` };
  }

  /** The index lists what a load can find: a model that is served without a directory is not in it. */
  async #isInRepository(): Promise<boolean> {
    return (await this.#client.index()).some((entry) => entry.name === this.#model);
  }

  /** To put the original back over it would undo what another tuner does, or keep what another one has tried. */
  #isOthers(current: ModelConfig | null): boolean {
    const { isNewStudy = false } = this.#options;
    return isNewStudy && !this.#touched && current !== null && !equal(current, this.#original);
  }

  async #unloadAgain(): Promise<Restored> {
    await this.#unload();
    return { how: 'unload', verified: true, detail: `'${this.#model}' is unloaded again, as it was before` };
  }

  /** False when the repository's config is not the original one, which then was an override itself. */
  async #reload(): Promise<boolean> {
    await this.#unload();
    await this.#load();
    const read = await this.#client.modelConfig(this.#model);
    this.#serving = { sent: read, read };
    return equal(read, this.#original);
  }

  /**
   * Triton loads another config beside the one that is served and swaps them at the end, which takes the memory of both. Where there
   * is not so much, what is served goes first; the model is away while the other one loads. Which two do not go together is found out once.
   */
  async #loadWithRoom(config: ModelConfig, signal?: AbortSignal, files?: ModelFiles): Promise<void> {
    const both = canonicalJson([this.#serving.sent, config]);
    if (!this.#tooMuch.has(both)) {
      try {
        return await this.#load(config, signal, files);
      } catch (error) {
        const isShort = error instanceof LoadRefusedError && error.kind === 'out-of-memory';
        if (!isShort || !(await this.#canBeAway())) throw error;
        this.#tooMuch.add(both);
      }
    }
    if (await this.#canBeAway()) await this.#unload(signal);
    await this.#load(config, signal, files);
  }

  /** It is served, a load would find it again, and no ensemble that is served would lose it. */
  async #canBeAway(): Promise<boolean> {
    const served = (await this.#client.index()).filter(({ state }) => state === 'READY').map(({ name }) => name);
    if (!served.includes(this.#model)) return false;
    const others = new Set(served.filter((name) => name !== this.#model));
    const configs = await Promise.all([...others].map((name) => this.#client.modelConfig(name)));
    return configs.every((config) => !stepsOf(config).includes(this.#model));
  }

  async #load(config?: ModelConfig, signal?: AbortSignal, files?: ModelFiles): Promise<void> {
    this.#touched = true;
    const wasSettled = this.#isSettled;
    this.#isSettled = false;
    const call = { timeoutMs: this.#options.loadTimeoutMs, ...(signal && { signal }), ...(files && { files }) };
    try {
      await this.#client.load(this.#model, config, call);
    } catch (error) {
      // A refusal is an end: what was served before still is, also when the model is not in the repository any more.
      if (isTrituneError(error, 'LOAD_REFUSED', 'MODEL_UNKNOWN')) this.#isSettled = wasSettled;
      throw error;
    }
    await this.#until(() => this.#client.modelReady(this.#model, signal ? { signal } : {}), 'become ready', signal);
  }

  /** The unload goes on after the server's reply; the index tells when it is done. */
  async #unload(signal?: AbortSignal): Promise<void> {
    this.#touched = true;
    await this.#client.unload(this.#model);
    const isGone = async (): Promise<boolean> => {
      const entries = (await this.#client.index()).filter((entry) => entry.name === this.#model);
      return entries.every((entry) => entry.state === 'UNAVAILABLE' || entry.state === '');
    };
    await this.#until(isGone, 'unload', signal);
  }

  /** null when the model is not loaded. */
  async #readConfig(signal?: AbortSignal): Promise<ModelConfig | null> {
    try {
      return await this.#client.modelConfig(this.#model, signal ? { signal } : {});
    } catch (error) {
      if (isTrituneError(error, 'MODEL_UNKNOWN', 'MODEL_UNREADY')) return null;
      throw error;
    }
  }

  async #until(holds: () => Promise<boolean>, what: string, signal?: AbortSignal): Promise<void> {
    const { clock, settleTimeoutMs } = this.#options;
    const startNs = clock.nowNs();
    while (!(await holds())) {
      if (nsToMs(clock.nowNs() - startNs) > settleTimeoutMs) {
        throw new TrituneError(
          'MODEL_UNREADY',
          `'${this.#model}' did not ${what} within ${settleTimeoutMs / 1e3} s`,
          'look at the log of the server',
        );
      }
      await clock.sleep(POLL_MS, signal);
    }
  }
}

/** The models that an ensemble is made of. */
function stepsOf({ ensemble_scheduling: ensemble }: ModelConfig): readonly (string | undefined)[] {
  const steps = (ensemble as { readonly step?: readonly { readonly model_name?: string }[] } | undefined)?.step ?? [];
  return steps.map(({ model_name }) => model_name);
}

/** A refused load as the tuner knows it; a refused upload too. */
const refused =
  (files: ModelFiles | undefined) =>
  (error: unknown): never => {
    if (files && isUploadRefusal(error)) throw uploadRefused(error, files);
    if (!(error instanceof LoadRefusedError)) throw error;
    const { kind, serverMessage, message, hint } = error;
    throw new CandidateRefusedError(kind, serverMessage, { message, hint, cause: error });
  };

const equal = (a: ModelConfig, b: ModelConfig): boolean => compareConfigs(a, b).length === 0;

const keptWithoutRepository = (model: string): Restored => ({
  ...{ how: 'nothing-changed', verified: true },
  detail: `'${model}' has its original config, and is not in the server's repository any more: it serves until it is unloaded`,
});

const changedByOthers = (model: string): TrituneError =>
  new TrituneError(
    'MODEL_LOCKED',
    `somebody else has changed '${model}' since this run began`,
    'see who else loads and unloads models on this server, and tune again when they are done',
  );

function mismatch(model: string, differences: readonly ConfigDifference[]): TrituneError {
  return new TrituneError(
    'CONFIG_MISMATCH',
    `the server has another config of '${model}' than was sent: ${inWords(differences)}`,
    'something else changes the model, or this server does not take these fields',
  );
}

function inWords(differences: readonly ConfigDifference[]): string {
  const shown = differences
    .slice(0, 3)
    .map(({ path, before, after }) => `${path} is ${words(after)}, not ${words(before)}`);
  const more = differences.length > shown.length ? `; and ${differences.length - shown.length} more` : '';
  return `${shown.join('; ')}${more}`;
}

const words = (value: unknown): string => (value === undefined ? 'absent' : JSON.stringify(value));

function restoreFailed(model: string, error: unknown): TrituneError {
  return new TrituneError(
    'RESTORE_FAILED',
    `'${model}' could not be put back as it was: ${messageOf(error)}`,
    isTrituneError(error, 'MODEL_UNKNOWN')
      ? 'put the model into its repository again, and run `tritune restore` on the output directory'
      : 'when the server answers again, run `tritune restore` on the output directory',
    { cause: error },
  );
}
