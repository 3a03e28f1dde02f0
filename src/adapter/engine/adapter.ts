import { TrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import { folderIn } from '#base/run-files.ts';
import { listDifferences } from '#space/differences.ts';
import { launchedCandidate } from '#space/engine-candidate.ts';
import { spaceSize } from '#space/enumerate.ts';
import { mostPlaces } from '#space/most-places.ts';
import { spaceToJson } from '#space/source/load.ts';
import type { Candidate, SearchSpace } from '#space/types.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import type { Profile, ServerAdapter } from '#tuner/adapter.ts';
import type { AdapterDefinition, MeasuringRule, OpenedAdapter } from '../definition.ts';
import { controlEngine, type EngineControl } from './control.ts';
import { engineDocuments } from './documents.ts';
import { emulatedProfileIn, readLaunchCommand } from './launch-command.ts';

/** The name of this adapter in journals. */
export const ENGINE = 'engine';

export interface EngineAdapterOptions {
  /** In the form of `--launch-command`. */
  readonly command: string;
  /** Settings before the study that the command does not say. */
  readonly original?: JsonObject | undefined;
  /** A space with an engine. */
  readonly space: SearchSpace;
  readonly cpus?: string | undefined;
  /** Time limit of one start; 10 minutes if absent. */
  readonly readyTimeoutMs?: number | undefined;
}

/** Measures the running server. */
export interface EngineProfile extends Pick<Profile, 'measure'> {
  close(): Promise<void>;
}

const READY_TIMEOUT_MS = 600_000;

/**
 * Returns an adapter for a server that takes its settings at its start: each candidate is a start.
 * `openProfile` opens the profile that measures the server currently returned by its argument.
 * Errors: USAGE for an invalid launch command.
 */
export function engineAdapter(
  options: EngineAdapterOptions,
  openProfile: (serving: EngineControl['serving'], rule: MeasuringRule) => Promise<EngineProfile>,
): AdapterDefinition {
  return {
    name: ENGINE,
    open: (rule, first, directory = '.') => openEngine(options, rule, first, directory, openProfile),
  };
}

async function openEngine(
  { command: text, original: stated, space, cpus, readyTimeoutMs = READY_TIMEOUT_MS }: EngineAdapterOptions,
  rule: MeasuringRule,
  first: Candidate | undefined,
  directory: string,
  openProfile: Parameters<typeof engineAdapter>[1],
): Promise<OpenedAdapter> {
  const command = readLaunchCommand(text, stated);
  const traits = space.engine;
  if (traits === null) throw noEngine(space);
  const logDirectory = await folderIn(directory, 'server');
  const control = controlEngine({ command, traits, logDirectory, cpus, readyTimeoutMs });
  const base = launchedCandidate(command.originalSettings);
  const whole = viewSpace(space, base);
  const built = whole.build({});
  const original = first ?? (built.legal ? built.candidate : base);
  const profile = await openProfile(control.serving, rule);
  const adapter: ServerAdapter = {
    name: ENGINE,
    identity: toIdentity(traits.name, emulatedProfileIn(command)),
    original,
    build: (assignment) =>
      Object.keys(assignment).length === 0 ? { legal: true, candidate: original } : whole.build(assignment),
    diff: listDifferences,
    documents: (candidate) => engineDocuments(candidate, command, traits),
    apply: control.apply,
    changed: control.changed,
    isReachable: control.isReachable,
    restore: control.restore,
    measure: profile.measure,
  };
  return {
    adapter,
    isOwn: true,
    settings: {},
    space: {
      definition: spaceToJson(space),
      size: spaceSize(space, base),
      places: mostPlaces(space, base),
      view: (narrowing) => viewSpace(space, base, narrowing),
    },
    close: async () => {
      await profile.close();
      await control.stop();
    },
  };
}

/** Each start has its own port, so none appears here. */
const toIdentity = (name: string, emulated: string | null): ServerAdapter['identity'] => {
  const url = '127.0.0.1';
  return { name, version: '', url, protocol: 'http', controlUrl: url, controlProtocol: ENGINE, emulated };
};

const noEngine = ({ name }: SearchSpace): TrituneError =>
  new TrituneError(
    'USAGE',
    `the search space '${name}' is not for an engine of a language model`,
    'give --space engines/vllm, engines/sglang, engines/llama-cpp or engines/tensorrt-llm, or a file that extends one of them',
  );
