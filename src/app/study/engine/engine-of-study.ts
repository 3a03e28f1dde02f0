import type { AdapterDefinition } from '../../../adapter/definition.ts';
import { engineAdapter } from '../../../adapter/engine/adapter.ts';
import { commandLineOf } from '../../../base/command-name.ts';
import { TrituneError } from '../../../base/errors.ts';
import { typedWord } from '../../../base/shell-words.ts';
import { MS_PER_S } from '../../../base/units.ts';
import { plainService } from '../../../space/source/engine-form.ts';
import { type LoadOptions, loadInlineSpace, loadSpace, spaceFromJson } from '../../../space/source/load.ts';
import { presetForCommand } from '../../../space/source/presets.ts';
import type { SearchSpace } from '../../../space/types.ts';
import { requestKindOf } from '../../../spec/request-kind.ts';
import type { StudySpec } from '../../../spec/study-spec.ts';
import type { StudyStarted } from '../../../study/records/records.ts';
import type { StudiedWorkloads } from '../workloads/read-workloads.ts';
import { requestsOfKind } from './request-kinds.ts';
import { type RequestServer, requestProfile } from './request-profile.ts';

/**
 * Returns the adapter of a study whose server is started by a command for each candidate; null for any other study. Errors: USAGE for a server
 * without a way to change settings, SPACE_INVALID.
 */
export function engineOfStudy(
  spec: StudySpec,
  started: StudyStarted | null,
  workloads: StudiedWorkloads | null,
): AdapterDefinition | null {
  const { launchCommand: command, original, endpoint, serverCpus: cpus } = spec.server;
  const kind = requestKindOf(spec);
  if (command === undefined) {
    if (spec.adapter === undefined && (kind === 'http' || endpoint?.startsWith('openai'))) throw nothingToSet(spec);
    return null;
  }
  const { loadTimeoutSeconds } = spec.limits;
  const readyTimeoutMs = loadTimeoutSeconds === undefined ? undefined : loadTimeoutSeconds * MS_PER_S;
  const space = started ? spaceFromJson(started.space) : spaceFor(spec, command);
  const metrics = space.engine?.metrics ?? null;
  return engineAdapter({ command, original, space, cpus, readyTimeoutMs }, async (serving) => {
    const now = (): RequestServer => {
      const { address } = serving();
      return { address, headers: [], metricsUrl: metrics === null ? undefined : `http://${address}${metrics}` };
    };
    const requests = await requestsOfKind[kind === 'http' ? 'http' : 'prompts'](spec, workloads);
    return requestProfile(spec, now, requests);
  });
}

function spaceFor(spec: StudySpec, command: string): SearchSpace {
  const { space, http } = spec;
  const options: LoadOptions = requestKindOf(spec) === 'http' ? { engine: plainService() } : {};
  if (typeof space === 'object') return loadInlineSpace(space, 'the search space of the study', options);
  const name = space ?? presetForCommand(command);
  if (name !== undefined) return loadSpace(name, options);
  throw new TrituneError(
    'USAGE',
    'there is no search space for what this launch command starts',
    http
      ? 'give --space FILE, such as one with `parameters: { workers: [1, 2, 4] }`'
      : 'give --space FILE; the file may extend engines/vllm, engines/sglang, engines/tensorrt-llm or engines/llama-cpp',
  );
}

function nothingToSet({ server: { url = 'HOST:PORT', endpoint }, model, http }: StudySpec): TrituneError {
  const [example, as] = http
    ? [
        'python3 service.py --port {port} --workers {workers}',
        ['--service-kind', 'http', '-u', `http://${url}${http.path ?? '/'}`],
      ]
    : [
        `vllm serve ${typedWord(model)} --port {port} {flags}`,
        ['--endpoint', endpoint ?? 'openai', '-u', url, '-m', model],
      ];
  return new TrituneError(
    'USAGE',
    `the settings of the running server at ${url} cannot be changed`,
    `give the command that starts it, --launch-command ${typedWord(example)}, or measure it as it is: ${commandLineOf(['profile', ...as])}`,
  );
}
