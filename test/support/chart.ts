import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { fromPyPi } from './fetched-tool.ts';

const run = promisify(execFile);

/** Helm's own code as a library, and Kubernetes' schemas with what holds objects to them. */
export const chartTools = (): Promise<string> => fromPyPi(['helm-python-sdk==0.2.2', 'kubernetes-validate==1.37.0']);

const chartFolder = resolve(import.meta.dirname, '../../deploy/helm/tritune-fleet');

/** What came of a chart with values. */
export type CheckedChart =
  | {
      readonly manifests: Readonly<Record<string, string>>;
      /** What helm's lint says. */
      readonly lint: readonly string[];
      /** Where an object is none by the schemas of a version of Kubernetes. */
      readonly faults: readonly string[];
    }
  /** Why the values were not taken. */
  | { readonly refused: string };

/** Renders the chart with a JSON file of values, as release `fleet` in the namespace `tuning`. */
export async function checkChart(valuesFile: string): Promise<CheckedChart> {
  const env = { ...process.env, PYTHONPATH: await chartTools() };
  const script = join(import.meta.dirname, 'check_chart.py');
  const { stdout } = await run('python3', [script, chartFolder, valuesFile, 'fleet', 'tuning'], { env });
  return JSON.parse(stdout) as CheckedChart;
}

/** An object of Kubernetes as far as the tests look into it. */
export interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>>;
}

export const objectsIn = (manifests: Readonly<Record<string, string>>): readonly KubernetesObject[] =>
  Object.values(manifests).flatMap((text) => {
    const documents = parseAllDocuments(text);
    if (!Array.isArray(documents)) return [];
    return documents.map((document) => document.toJS() as KubernetesObject | null).filter((each) => each !== null);
  });
