import type { ModelConfig } from '#triton/config/model-config.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';

const PREFIX = 'file:';

/** Files of a load, by the name of their load parameter. */
export type UploadedFiles = ReadonlyMap<string, Uint8Array>;

export const NO_FILES: UploadedFiles = new Map();

/** True if one of the files holds the text. */
export const holdsText = (files: UploadedFiles, text: string): boolean =>
  [...files.values()].some((content) => Buffer.from(content.buffer, content.byteOffset, content.length).includes(text));

/** True if a load parameter is a file: `file:VERSION/NAME`. */
export const isFileParameter = (name: string): boolean => name.startsWith(PREFIX);

/**
 * Returns the version that a load serves: the stored one without files, otherwise one of the files'
 * versions only. The emulator serves one version at a time, the highest that the version policy
 * allows; a profile's arms may depend on the content of the files. Throws INVALID_ARGUMENT if there
 * is none.
 */
export function chosenVersion(model: string, config: ModelConfig, files: UploadedFiles): string {
  if (files.size === 0) return '1';
  const brought = [...files.keys()]
    .map((name) => /^file:(\d+)\/./.exec(name)?.[1])
    .filter((version) => version !== undefined)
    .sort((a, b) => Number(b) - Number(a));
  const policy = config.version_policy as { specific?: { versions?: readonly (number | string)[] } } | undefined;
  const versions = policy?.specific?.versions?.map(String);
  const chosen = brought.find((version) => !versions || versions.includes(String(Number(version))));
  if (chosen !== undefined) return String(Number(chosen));
  throw new ProtocolFailure(
    'INVALID_ARGUMENT',
    `load failed for model '${model}': at least one version must be available under the version policy of model '${model}'\n`,
  );
}
