import { engineAdapter } from '#adapter/engine/adapter.ts';
import { TrituneError } from '#base/errors.ts';
import { MS_PER_S } from '#base/units.ts';
import { plainService } from '#space/source/engine-form.ts';
import { loadInlineSpace, loadSpace, type SpaceLoadOptions, spaceFromJson } from '#space/source/load.ts';
import { presetForCommand } from '#space/source/presets.ts';
import type { SearchSpace } from '#space/types.ts';
import { toRequestKind } from '#spec/request-kind.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { OpenStudy, TargetKind } from '../study/study.ts';
import { byAdapter } from './by-adapter.ts';
import { requestsOfKind } from './request-kinds.ts';
import { type RequestServer, requestProfile } from './request-profile.ts';

/**
 * A server that is started by a command for each candidate. Errors: USAGE for a command without a
 * search space, SPACE_INVALID.
 */
export function byCommand(
  command: string,
  { spec, started, workloads }: Pick<OpenStudy, 'spec' | 'started' | 'workloads'>,
): TargetKind {
  const { original, serverCpus: cpus } = spec.server;
  const { loadTimeoutSeconds } = spec.limits;
  const readyTimeoutMs = loadTimeoutSeconds === undefined ? undefined : loadTimeoutSeconds * MS_PER_S;
  const space = started ? spaceFromJson(started.space) : spaceFor(spec, command);
  const metrics = space.engine?.metrics ?? null;
  const adapter = engineAdapter({ command, original, space, cpus, readyTimeoutMs }, async (serving) => {
    const now = (): RequestServer => {
      const { address } = serving();
      return { address, headers: [], metricsUrl: metrics === null ? undefined : `http://${address}${metrics}` };
    };
    const kind = toRequestKind(spec) === 'http' ? 'http' : 'prompts';
    return requestProfile(spec, now, await requestsOfKind[kind](spec, workloads));
  });
  return byAdapter(adapter);
}

function spaceFor(spec: StudySpec, command: string): SearchSpace {
  const { space, http } = spec;
  const options: SpaceLoadOptions = toRequestKind(spec) === 'http' ? { engine: plainService() } : {};
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
