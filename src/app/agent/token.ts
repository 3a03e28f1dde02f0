import { TrituneError } from '../../base/errors.ts';
import type { HeaderSpec } from '../../spec/server-spec.ts';
import { headersOf } from '../server/headers.ts';

/** A shorter one could be guessed. */
const LEAST_CHARACTERS = 16;

/** Reads the token that a controller shows to its agents. Errors: USAGE, INPUT_INVALID; neither ever says it. */
export function agentToken({ tokenFile, tokenEnv }: Pick<HeaderSpec, 'tokenFile' | 'tokenEnv'>): string {
  const [header] = headersOf({ tokenFile, tokenEnv });
  const token = header?.value.replace(/^Bearer /, '') ?? '';
  if (token === '') throw usage('the token of the agents is missing', HOW);
  if (token.length < LEAST_CHARACTERS) {
    throw usage(`the token of the agents is shorter than ${LEAST_CHARACTERS} characters`, HOW);
  }
  return token;
}

const HOW =
  'create one with openssl rand -hex 32, and give it on both machines with --token-file and --agent-token-file';

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
