import { trituneVersion } from '#base/package.ts';
import type { ServerMetadata } from '#triton/types.ts';

/**
 * The server's name for itself: never Triton, so that its figures are not mistaken for a real
 * server's.
 */
const EMULATOR_NAME = 'tritune-emulator';

const PROFILE_PREFIX = 'emulator_profile:';

const extensions = [
  'sequence',
  'model_repository',
  'model_repository(unload_dependents)',
  'model_configuration',
  'system_shared_memory',
  'binary_tensor_data',
  'statistics',
  'parameters',
  'trace',
  'logging',
] as const;

/** Returns the metadata of an emulator with that profile. */
export function serverIdentity(profile: string): ServerMetadata {
  return { name: EMULATOR_NAME, version: trituneVersion, extensions: [...extensions, `${PROFILE_PREFIX}${profile}`] };
}

/** Returns the owner of the models in OpenAI's list, which says as much as Triton's metadata. */
export const modelOwner = (metadata: ServerMetadata): string =>
  `${metadata.name}:${findEmulatedProfile(metadata) ?? ''}`;

/** Returns the profile of our emulator, from the owner of its models; null for any other server. */
export const emulatedProfileOfOwner = (owner: string): string | null =>
  owner.startsWith(`${EMULATOR_NAME}:`) ? owner.slice(EMULATOR_NAME.length + 1) : null;

/**
 * Returns the profile of a server that identifies itself as our emulator; null for any other
 * server.
 */
export function findEmulatedProfile(metadata: ServerMetadata): string | null {
  if (metadata.name !== EMULATOR_NAME) return null;
  const extension = metadata.extensions.find((name) => name.startsWith(PROFILE_PREFIX));
  return extension?.slice(PROFILE_PREFIX.length) ?? '';
}
