import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * Where people look at the repository's files: the address in package.json, else that of the CI run
 * which builds the site. null where neither is known.
 */
export function repositoryAddress(): string | null {
  const path = resolve(import.meta.dirname, '../../package.json');
  const { repository } = JSON.parse(readFileSync(path, 'utf8')) as { repository?: string | { url: string } };
  const url = typeof repository === 'string' ? repository : repository?.url;
  if (url) return url.replace(/^git\+/, '').replace(/\.git$/, '');
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
  return GITHUB_SERVER_URL && GITHUB_REPOSITORY ? `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}` : null;
}
