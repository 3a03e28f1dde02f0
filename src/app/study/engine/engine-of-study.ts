import type { AdapterDefinition } from '../../../adapter/definition.ts';
import { engineAdapter } from '../../../adapter/engine/adapter.ts';
import { commandLineOf } from '../../../base/command-name.ts';
import { TrituneError } from '../../../base/errors.ts';
import { typedWord } from '../../../base/shell-words.ts';
import { MS_PER_S } from '../../../base/units.ts';
import { loadInlineSpace, loadSpace, spaceFromJson } from '../../../space/source/load.ts';
import { presetForCommand } from '../../../space/source/presets.ts';
import type { SearchSpace } from '../../../space/types.ts';
import type { StudySpec } from '../../../spec/study-spec.ts';
import type { StudyStarted } from '../../../study/records/records.ts';
import type { StudiedWorkloads } from '../workloads/read-workloads.ts';
import { type LanguageServer, languageProfile } from './language-profile.ts';

/**
 * Returns the adapter of a study whose server is started by a command for each candidate; null for any other study. Errors: USAGE for an endpoint
 * without a way to change settings, SPACE_INVALID.
 */
export function engineOfStudy(
  spec: StudySpec,
  started: StudyStarted | null,
  workloads: StudiedWorkloads | null,
): AdapterDefinition | null {
  const { launchCommand: command, endpoint, serverCpus: cpus } = spec.server;
  if (command === undefined) {
    if (endpoint?.startsWith('openai')) throw nothingToSet(spec);
    return null;
  }
  const { loadTimeoutSeconds } = spec.limits;
  const readyTimeoutMs = loadTimeoutSeconds === undefined ? undefined : loadTimeoutSeconds * MS_PER_S;
  const space = started ? spaceFromJson(started.space) : spaceFor(spec, command);
  const metrics = space.engine?.metrics ?? null;
  return engineAdapter({ command, space, cpus, readyTimeoutMs }, (serving) => {
    const now = (): LanguageServer => {
      const { address } = serving();
      return { address, headers: [], metricsUrl: metrics === null ? undefined : `http://${address}${metrics}` };
    };
    return languageProfile(spec, now, workloads);
  });
}

function spaceFor({ space }: StudySpec, command: string): SearchSpace {
  if (typeof space === 'object') return loadInlineSpace(space, 'the search space of the study');
  const name = space ?? presetForCommand(command);
  if (name !== undefined) return loadSpace(name);
  throw new TrituneError(
    'USAGE',
    'there is no search space for the engine of this launch command',
    'give --space FILE; the file may extend engines/vllm, engines/sglang, engines/tensorrt-llm or engines/llama-cpp',
  );
}

function nothingToSet({ server: { url = 'HOST:PORT', endpoint }, model }: StudySpec): TrituneError {
  return new TrituneError(
    'USAGE',
    `the settings of the running server at ${url} cannot be changed`,
    `give the command that starts it, --launch-command ${typedWord(`vllm serve ${typedWord(model)} --port {port} {flags}`)}, or measure it as it is: ${commandLineOf(['profile', '--endpoint', endpoint ?? 'openai', '-u', url, '-m', model])}`,
  );
}
