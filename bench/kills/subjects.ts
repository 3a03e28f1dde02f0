import { randomBytes } from 'node:crypto';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LaunchedServer } from '#launch/types.ts';

/** What is killed: studies of each kind, and the measurement of a capacity. */
export const kinds = ['single', 'ensemble', 'bls', 'co-located', 'variants', 'capacity'] as const;
export type Kind = (typeof kinds)[number];

/** A kind of run on the server of this bench. */
export interface Subject {
  readonly kind: Kind;
  /** The models that it changes, or whose ensemble it does. The first is asked for an answer. */
  readonly models: readonly string[];
  /** Files of candidates that the run uploads, in bytes together; 0 for none. */
  readonly uploadBytes: number;
  /** The command that starts a run anew. */
  command(output: string): readonly string[];
}

/** Takes about 0.2 s on the loopback interface. */
const PADDING_BYTES = 48 * 2 ** 20;
/** The models of the server, with those that BLS models call. */
export const LOADED = ['sleeper', 'napper', 'judge', 'find_and_name', 'detector', 'classifier'];
const TENANTS = ['tenant_large', 'tenant_small'];

const candidates: Readonly<Record<Exclude<Kind, 'capacity'>, readonly object[]>> = {
  single: [{ instances: 2 }, { max_batch_size: 8, instances: 2 }, { max_batch_size: 4 }],
  ensemble: [{ 'encoder/max_batch_size': 8, 'head/instances': 2 }, { 'tokenizer/instances': 2 }],
  bls: [{ 'detector/max_batch_size': 8, 'classifier/instances': 2 }, { 'find_and_name/instances': 2 }],
  'co-located': [{ 'tenant_large/instances': 2 }, { 'tenant_small/max_batch_size': 8, 'tenant_large/instances': 2 }],
  variants: [{ variant: 'other' }, { variant: 'other', instances: 2 }, { max_batch_size: 8 }],
};

const SPACE = `
name: kills
extends: python
variants:
  same: {}
  other: { files: { 1/model.py: model.py, 1/padding.bin: padding.bin } }
parameters: { instances: [1, 2], max_batch_size: [16, 8] }
`;

/** The models that the server has at its start. */
export const modelsToLoad = [...LOADED, ...TENANTS];

/**
 * Adds `napper`, the model of the variants, to a repository: it is tuned apart from `sleeper`,
 * whose answer it gives.
 */
export async function addNapper(repository: string): Promise<void> {
  const [sleeper, napper] = [join(repository, 'sleeper'), join(repository, 'napper')];
  await cp(sleeper, napper, { recursive: true });
  const config = join(napper, 'config.pbtxt');
  await writeFile(config, (await readFile(config, 'utf8')).replace('name: "sleeper"', 'name: "napper"'));
}

/** The subjects on a server; their files are written to `folder`. */
export async function subjectsOn(server: LaunchedServer, folder: string): Promise<ReadonlyMap<Kind, Subject>> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'space.yaml'), SPACE);
  await writeFile(join(folder, 'padding.bin'), randomBytes(PADDING_BYTES));
  const program = join(import.meta.dirname, '../../test/real/models/sleeper/1/model.py');
  // Another answer, by which the files on the server are known.
  const doubled = (await readFile(program, 'utf8')).replace(
    'pb_utils.Tensor("OUTPUT", array)',
    'pb_utils.Tensor("OUTPUT", 2 * array)',
  );
  await writeFile(join(folder, 'model.py'), doubled);
  for (const [kind, list] of Object.entries(candidates))
    await writeFile(join(folder, `${kind}.json`), JSON.stringify(list));
  const tuned = (kind: Exclude<Kind, 'capacity'>, models: readonly string[], named: readonly string[]): Subject => ({
    kind,
    models,
    uploadBytes: kind === 'variants' ? PADDING_BYTES : 0,
    command: (output) => [
      ...['tune', ...named, '-u', server.grpcUrl, '--metrics-url', server.metricsUrl, '-o', output, '--ui', 'lines'],
      ...['--sampler', 'manual', '--candidates', join(folder, `${kind}.json`), '--client-batch', '1'],
      ...['--concurrency', '2:2', '--precision', '50', '--time-budget', '20s'],
    ],
  });
  const stages = {
    ensemble: ['judge', 'tokenizer', 'encoder', 'head'],
    bls: ['find_and_name', 'detector', 'classifier'],
  };
  const all: readonly Subject[] = [
    tuned('single', ['sleeper'], ['-m', 'sleeper', '--bls-composing', 'none']),
    tuned('ensemble', stages.ensemble, ['-m', 'judge']),
    tuned('bls', stages.bls, ['-m', 'find_and_name', '--bls-composing', 'detector,classifier']),
    tuned('co-located', TENANTS, ['--together', TENANTS.join(',')]),
    tuned('variants', ['napper'], ['-m', 'napper', '--bls-composing', 'none', '--space', join(folder, 'space.yaml')]),
    {
      kind: 'capacity',
      models: ['sleeper'],
      uploadBytes: 0,
      command: () => [
        'capacity',
        '-m',
        'sleeper',
        '-u',
        server.grpcUrl,
        '-i',
        'grpc',
        '-l',
        '50',
        '--time-budget',
        '6s',
      ],
    },
  ];
  return new Map(all.map((subject) => [subject.kind, subject]));
}
