import { readFileSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';

/**
 * The folder of this program's code: `src`, or `dist` in the package. The build puts this file into
 * a chunk in a folder of `dist`, so that the code's folder is one level up there, too.
 */
export const codeFolder = resolve(import.meta.dirname, '..');

/**
 * Returns the path of a file of the package, such as `proto/grpc_service.proto`, or of a folder.
 */
export const packagePath = (name: string): string => join(codeFolder, '..', name);

/**
 * Returns the path of a module that runs as a process, a thread or a plug-in: `launch/supervise`.
 * Each is an entry of the build (`.ci/bundle.ts`).
 */
export const entryPath = (name: string): string => join(codeFolder, `${name}${extname(import.meta.filename)}`);

const manifest = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as {
  version: string;
  engines: { node: string };
};

/** The version of this tritune. */
export const trituneVersion: string = manifest.version;

/** The oldest Node that it runs on, as `package.json` declares it to npm: `22.1`. */
export const oldestNode: string = manifest.engines.node.replace('>=', '');
