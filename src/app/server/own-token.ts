import { TrituneError } from '#base/errors.ts';
import type { HeaderSpec } from '#spec/server-spec.ts';
import { readHeaders } from './headers.ts';
import { MIN_BITS, tokenBits } from './token-strength.ts';

/** Shorter tokens could be guessed. */
const MIN_CHARACTERS = 16;

type TokenSpec = Pick<HeaderSpec, 'tokenFile' | 'tokenEnv'>;

/**
 * Reads the token that a controller shows to its agents. Errors: USAGE, INPUT_INVALID; neither ever
 * shows it.
 */
export function agentToken(spec: TokenSpec): string {
  const what = 'the token of the agents';
  const token = tokenIn(spec, what, ON_BOTH);
  if (token === null) throw usage(`${what} is missing`, ON_BOTH);
  return token;
}

/**
 * Reads the token that a person needs to steer studies on the page; null if none is named. Errors:
 * USAGE, INPUT_INVALID; neither ever shows it.
 */
export const pageToken = (spec: TokenSpec): string | null =>
  spec.tokenFile === undefined && spec.tokenEnv === undefined ? null : tokenIn(spec, 'the token of the page', ALONE);

/** null for an empty one. */
function tokenIn({ tokenFile, tokenEnv }: TokenSpec, what: string, hint: string): string | null {
  const [header] = readHeaders({ tokenFile, tokenEnv });
  const token = header?.value.replace(/^Bearer /, '') ?? '';
  if (token === '') return null;
  if (token.length < MIN_CHARACTERS) throw usage(`${what} is shorter than ${MIN_CHARACTERS} characters`, hint);
  if (tokenBits(token) < MIN_BITS)
    throw usage(`${what} is easily guessed: it repeats itself, counts, or is made of common words`, hint);
  return token;
}

const ON_BOTH =
  'create one with openssl rand -base64 32, and give it on both machines with --token-file and --agent-token-file';
const ALONE = 'create one with openssl rand -base64 32';

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
