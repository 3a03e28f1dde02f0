import type { ModelConfig } from '../../triton/config/model-config.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';

const PREFIX = 'file:';

/** Whether a load parameter brings a file: `file:VERSION/NAME`. */
export const isFileParameter = (name: string): boolean => name.startsWith(PREFIX);

/**
 * The version that a load serves: without files the stored one, else one that the files bring, and none but theirs. The
 * emulator serves one version at a time, the highest that the version policy lets through; what the files hold is not
 * looked at. Throws INVALID_ARGUMENT when there is none.
 */
export function chosenVersion(model: string, config: ModelConfig, files: readonly string[]): string {
  if (files.length === 0) return '1';
  const brought = files
    .map((name) => /^file:(\d+)\/./.exec(name)?.[1])
    .filter((version) => version !== undefined)
    .sort((a, b) => Number(b) - Number(a));
  const policy = config.version_policy as { specific?: { versions?: readonly (number | string)[] } } | undefined;
  const wanted = policy?.specific?.versions?.map(String);
  const chosen = brought.find((version) => !wanted || wanted.includes(String(Number(version))));
  if (chosen !== undefined) return String(Number(chosen));
  throw new ProtocolFailure(
    'INVALID_ARGUMENT',
    `load failed for model '${model}': at least one version must be available under the version policy of model '${model}'\n`,
  );
}
