import { TrituneError } from '../../base/errors.ts';
import type { HeaderSpec } from '../../spec/server-spec.ts';
import { headersOf } from './headers.ts';

/** A shorter one could be guessed. */
const LEAST_CHARACTERS = 16;

type TokenSpec = Pick<HeaderSpec, 'tokenFile' | 'tokenEnv'>;

/** Reads the token that a controller shows to its agents. Errors: USAGE, INPUT_INVALID; neither ever says it. */
export function agentToken(spec: TokenSpec): string {
  const token = tokenIn(spec, 'the token of the agents');
  if (token === null) throw usage('the token of the agents is missing', HOW);
  return token;
}

/** Reads the token that a person shows to steer studies on the page; null where none is named. Errors: USAGE, INPUT_INVALID; neither ever says it. */
export const pageToken = (spec: TokenSpec): string | null =>
  spec.tokenFile === undefined && spec.tokenEnv === undefined ? null : tokenIn(spec, 'the token of the page');

/** null for an empty one. */
function tokenIn({ tokenFile, tokenEnv }: TokenSpec, what: string): string | null {
  const [header] = headersOf({ tokenFile, tokenEnv });
  const token = header?.value.replace(/^Bearer /, '') ?? '';
  if (token === '') return null;
  if (token.length < LEAST_CHARACTERS) throw usage(`${what} is shorter than ${LEAST_CHARACTERS} characters`, HOW);
  return token;
}

const HOW = 'create one with openssl rand -hex 32, and put it in a file';

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
