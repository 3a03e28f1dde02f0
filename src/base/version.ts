import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
  engines: { node: string };
};

/** This release of tritune; `package.json` lies two levels up from `src/base` and from `dist/base` alike. */
export const trituneVersion: string = manifest.version;

/** The oldest Node that it runs on, as `package.json` says it to npm: `22.1`. */
export const oldestNode: string = manifest.engines.node.replace('>=', '');
