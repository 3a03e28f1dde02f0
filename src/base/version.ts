import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
  engines: { node: string };
};

/** The version of this tritune; `package.json` lies two levels up from both `src/base` and `dist/base`. */
export const trituneVersion: string = manifest.version;

/** The oldest Node that it runs on, as `package.json` declares it to npm: `22.1`. */
export const oldestNode: string = manifest.engines.node.replace('>=', '');
