import type { AdapterDefinition } from '#adapter/definition.ts';
import { formatCommandLine } from '#base/command-name.ts';
import { TrituneError } from '#base/errors.ts';
import { typedWord } from '#base/shell-words.ts';
import { toRequestKind } from '#spec/request-kind.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { OpenStudy, TargetKind } from '../study/study.ts';
import { byAdapter } from './by-adapter.ts';
import { byCommand } from './by-command.ts';
import { triton } from './triton/kind.ts';

/**
 * Returns the target of a study: a server that `adapter` opens, if there is one, or that a command
 * starts for each candidate; else a Triton. Errors: USAGE for a server without a way to change
 * settings, SPACE_INVALID.
 */
export function toTarget(
  study: Pick<OpenStudy, 'spec' | 'started' | 'workloads'>,
  adapter: AdapterDefinition | undefined,
): TargetKind {
  const { spec } = study;
  const { launchCommand, endpoint } = spec.server;
  if (adapter) return byAdapter(adapter);
  if (launchCommand !== undefined) return byCommand(launchCommand, study);
  if (toRequestKind(spec) === 'http' || endpoint?.startsWith('openai')) throw nothingToSet(spec);
  return triton;
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
    `give the command that starts it, --launch-command ${typedWord(example)}, or measure it as it is: ${formatCommandLine(['profile', ...as])}`,
  );
}
