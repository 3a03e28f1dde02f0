import { readFileSync } from 'node:fs';
import type { ServerMetadata } from '../triton/types.ts';

/** What the server says that it is: never Triton, so that no figure of it passes for one of a real server. */
export const EMULATOR_NAME = 'tritune-emulator';

const extensions = [
  'model_repository',
  'model_configuration',
  'binary_tensor_data',
  'statistics',
  'parameters',
] as const;

/** The package's own version: `package.json` lies two levels up from `src/emulator` and from `dist/emulator` alike. */
export function serverIdentity(profile: string): ServerMetadata {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return { name: EMULATOR_NAME, version, extensions: [...extensions, `emulator_profile:${profile}`] };
}
