import { TrituneError } from '../../base/errors.ts';
import type { HeaderSpec } from '../../spec/server-spec.ts';
import { headersOf } from '../server/headers.ts';

/** A shorter one could be guessed. */
const LEAST_CHARACTERS = 16;

/** Reads the token that a controller shows to its agents. Errors: USAGE, INPUT_INVALID; neither ever says it. */
export function agentToken({ tokenFile, tokenEnv }: Pick<HeaderSpec, 'tokenFile' | 'tokenEnv'>): string {
  const [header] = headersOf({ tokenFile, tokenEnv });
  const token = header?.value.replace(/^Bearer /, '') ?? '';
  if (token === '') throw usage('agents and their controller share a token, and none is given', HOW);
  if (token.length < LEAST_CHARACTERS) {
    throw usage(`the token of the agents has less than ${LEAST_CHARACTERS} characters`, HOW);
  }
  return token;
}

const HOW = 'make a file with one on both sides: openssl rand -hex 32';

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
