import { TrituneError } from '#base/errors.ts';

/** What gets requests. */
export const subjects = [
  ...(['one model', 'ensemble', 'BLS model', 'several models'] as const),
  ...(['OpenAI', 'Triton generate', 'Triton gRPC', 'plain HTTP'] as const),
] as const;
export const drivers = ['profile', 'tune', 'capacity'] as const;
export const loads = ['concurrency', 'request rate', 'batch sizes', 'workload'] as const;
/** What a load may use beside its requests. */
export const extras = ['shared memory', 'expected outputs', 'streams', 'agents', 'fleet'] as const;

export type Subject = (typeof subjects)[number];
export type Driver = (typeof drivers)[number];
export type LoadKind = (typeof loads)[number];
export type Extra = (typeof extras)[number];

/** What a command combines. */
export interface Combination {
  readonly subject: Subject;
  readonly driver: Driver;
  readonly load: LoadKind;
  readonly extras: readonly Extra[];
}

/** Combinations that are refused: those that agree with every field. */
export interface Refusal {
  readonly subjects?: readonly Subject[];
  readonly drivers?: readonly Driver[];
  readonly loads?: readonly LoadKind[];
  readonly extra?: Extra;
  /** The end of a sentence: "X cannot be combined with Y, …". */
  readonly reason: string;
  readonly hint: string;
}

const prompts: readonly Subject[] = ['OpenAI', 'Triton generate', 'Triton gRPC'];
const ofTexts: readonly Subject[] = [...prompts, 'plain HTTP'];

/** Every combination that does not work, with its reason. Whatever agrees with no row works. */
export const refusals: readonly Refusal[] = [
  {
    drivers: ['capacity'],
    loads: ['concurrency'],
    reason: 'because a capacity is a request rate',
    hint: 'leave the concurrency out',
  },
  {
    drivers: ['capacity'],
    loads: ['batch sizes'],
    reason: 'because a capacity is that of requests of one size',
    hint: 'give -b N for requests of one size',
  },
  {
    subjects: prompts,
    loads: ['batch sizes'],
    reason: 'because an engine batches its prompts itself',
    hint: 'give a concurrency: how many users prompt at the same time',
  },
  {
    subjects: ['plain HTTP'],
    loads: ['batch sizes'],
    reason: 'because only you know what makes a body larger',
    hint: 'give the bodies, with --bodies-file FILE, or -b N with an --endpoint such as embeddings',
  },
  {
    subjects: ['several models'],
    drivers: ['profile', 'capacity'],
    loads: ['concurrency', 'request rate', 'batch sizes'],
    reason: 'because nothing says how the load is shared among them',
    hint: 'give --workload FILE, whose classes name the models and their weights',
  },
  {
    subjects: ofTexts,
    extra: 'shared memory',
    reason: 'because their requests are texts, which travel in the request',
    hint: 'leave out --shared-memory',
  },
  {
    subjects: prompts,
    extra: 'expected outputs',
    reason: 'because the words of a language model differ from reply to reply',
    hint: 'check the quality of replies with a tool made for it',
  },
  {
    subjects: ['plain HTTP'],
    extra: 'expected outputs',
    reason: 'because a reply counts by its status alone',
    hint: 'check replies with a test of the service',
  },
  {
    subjects: ['plain HTTP'],
    extra: 'streams',
    reason: 'because a plain HTTP reply counts once it is whole',
    hint: 'leave out --streaming, or give --endpoint openai for a language model',
  },
  {
    drivers: ['profile', 'capacity'],
    extra: 'fleet',
    reason: 'because a fleet shares the trials of a study',
    hint: 'run the command once for each server',
  },
  {
    subjects: ['OpenAI', 'plain HTTP'],
    extra: 'fleet',
    reason: 'because the workers of a fleet change the models of Tritons',
    hint: 'tune it without --temporal',
  },
];

/** Returns the row that refuses a combination; null if it works. */
export function findRefusal(combination: Combination): Refusal | null {
  const agrees = (row: Refusal): boolean =>
    (row.subjects?.includes(combination.subject) ?? true) &&
    (row.drivers?.includes(combination.driver) ?? true) &&
    (row.loads?.includes(combination.load) ?? true) &&
    (row.extra === undefined || combination.extras.includes(row.extra));
  return refusals.find(agrees) ?? null;
}

/** Errors: USAGE for a combination that does not work, with the reason of its row. */
export function checkCombination(combination: Combination): void {
  const refusal = findRefusal(combination);
  if (refusal === null) return;
  const { subject, driver } = combination;
  const what = refusal.extra ?? (refusal.loads ? combination.load : driver);
  throw new TrituneError(
    'USAGE',
    `${what} cannot be combined with ${refusal.subjects ? subject : driver}, ${refusal.reason} (docs/reference/combinations.md)`,
    refusal.hint,
  );
}
