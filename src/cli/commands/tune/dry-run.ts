import { exitCodes } from '#app/exit-codes.ts';
import { countClients } from '#app/server/client-requests.ts';
import { checkLeftovers } from '#app/server/leftover.ts';
import { checkControllable, type OpenServer, openServer, toServer } from '#app/server/open-server.ts';
import { warnIfInsecure } from '#app/server/tls.ts';
import type { Expected, Seen } from '#app/study/expected-duration.ts';
import { findSampler } from '#app/study/find-sampler.ts';
import { checkSpec } from '#app/study/open-study.ts';
import { planStudy } from '#app/study/plan-study.ts';
import { readPriors } from '#app/study/read-priors.ts';
import { isSeriesSpec, type RequestedSpec } from '#app/study/read-spec.ts';
import { type StudiedWorkloads, withWorkloads } from '#app/study/read-workloads.ts';
import { describeTriton } from '#app/target/triton/describe.ts';
import { callsFinder } from '#app/target/triton/find-calls.ts';
import { inputsOfFronts, trafficTo } from '#app/target/triton/front-inputs.ts';
import { leaveAsTheyWere, modelsNamedBy, readModels, type TritonModels } from '#app/target/triton/models.ts';
import { inputsOfWorkloads } from '#app/target/triton/tensor-workloads.ts';
import { type FirstRequests, firstTimeoutMs, lookFirst } from '#app/traffic/first-requests.ts';
import { listAssumptions } from '#app/traffic/tensor-requests.ts';
import { TrituneError } from '#base/errors.ts';
import { formatDuration, formatMs, plainLine } from '#base/format.ts';
import { MS_PER_S } from '#base/units.ts';
import { workloadLines } from '#headless/studied-workloads.ts';
import type { SeriesSpec } from '#spec/series-spec.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { describeClients } from '#study/summary/client-words.ts';
import { latencyWarning } from '#study/summary/latency-note.ts';
import type { Terminal } from '../../terminal.ts';

/**
 * `--dry-run`: prints what a run would try and its estimated duration, for each model. Changes
 * nothing on a running server. Sends a few requests, one after another, to see how fast the model
 * is and whether it accepts them.
 */
export async function dryRun(requestedSpec: RequestedSpec, terminal: Terminal): Promise<number> {
  const studies = isSeriesSpec(requestedSpec) ? listStudies(requestedSpec) : [requestedSpec];
  const [first] = studies as [StudySpec];
  warnIfInsecure(first.server, terminal);
  for (const study of studies) checkSpec(study);
  const laterModels = studies.flatMap((spec) => modelsNamedBy({ spec, started: null }).names);
  // A server started for the run loads the model now, which shows how long a load takes.
  const opened = await openServer(toServer(first), { laterModels }, null, new AbortController().signal);
  try {
    await checkControllable(opened.client);
    let [least, most] = [0, 0];
    for (const [index, study] of studies.entries()) {
      if (studies.length > 1)
        terminal.print(`${index === 0 ? '' : '\n'}model ${index + 1} of ${studies.length}: ${study.model}`);
      const { leastSeconds, seconds } = await printPlan(study, opened, terminal);
      least += leastSeconds;
      most += seconds;
    }
    if (studies.length > 1) terminal.print(`\nexpected in total: ${formatSpan(least, most)}, one model after another`);
    return exitCodes.done;
  } finally {
    await opened.close();
  }
}

/** The studies of a series, each with its share of the time. */
const listStudies = ({ studies, timeBudgetSeconds }: SeriesSpec): readonly StudySpec[] =>
  studies.map((study) => ({
    ...study,
    limits: {
      ...study.limits,
      ...(timeBudgetSeconds !== undefined && { timeBudgetSeconds: timeBudgetSeconds / studies.length }),
    },
  }));

/**
 * Prints the plan of a study. Returns its expected duration. Errors: SERVER_FAILED if a test
 * request fails.
 */
async function printPlan(studySpec: StudySpec, opened: OpenServer, terminal: Terminal): Promise<Expected> {
  const { client, server } = opened;
  const { spec, workloads } = await withWorkloads(studySpec);
  const named = modelsNamedBy({ spec, started: null });
  const tell = (line: string): void => terminal.print(line);
  await checkLeftovers(opened, named.names);
  const models = await readModels(
    client,
    named,
    null,
    callsFinder({ spec, started: null }, named.spaces, opened, tell),
  );
  const counted = await countClients(opened, models.names);
  const tried = tryRequests(spec, workloads, opened, models);
  const { inputs, first, seen } = await tried.finally(() => leaveAsTheyWere(client, models));
  const sampler = await findSampler(spec);
  const priors = await readPriors(spec);
  const study = { spec, sampler, earlier: [], started: null, commandLine: [], workloads, priors };
  const triton = describeTriton(study, server, { ...models, counted });
  const { space } = triton;
  const { plan, expected, usual } = planStudy(study, triton);
  const expectation = expected(seen);
  const { seconds, leastSeconds, measurements, trials } = expectation;
  terminal.print(space.describe());
  for (const line of describeClients(plan.study)) terminal.print(line);
  const warning = latencyWarning(plan.study, plan.study.goal);
  if (warning !== null) terminal.print(`WARNING: ${warning}`);
  const { length } = inputs.requests;
  const what = length === 1 ? 'the same request repeatedly' : `${length} different requests in turn`;
  const { batch } = plan.study.levels;
  const size = batch && batch.low < batch.high ? `${batch.low} to ${batch.high}` : (batch?.low ?? inputs.batch);
  terminal.print(`sends ${what}, with ${size} ${size === 1 ? 'sample' : 'samples'} each`);
  for (const line of listAssumptions(inputs)) terminal.print(line);
  if (plan.study.workloads) for (const line of workloadLines(plan.study.workloads)) terminal.print(line);
  terminal.print(searchLine(sampler.name, { trials, measurements }));
  const isSure = usual !== undefined || seconds >= plan.timeBudgetMs / MS_PER_S;
  terminal.print(
    `expected: about ${formatSpan(leastSeconds, seconds)}${describeBasis(first, seen, expectation)}; nothing was changed`,
  );
  if (!isSure) terminal.print('depending on the results, it may take half or twice as long');
  const slow = space.slowParameters;
  if (slow.length > 0)
    terminal.print(`${slow.join(', ')}: some settings can take minutes to load, in addition to that`);
  if (first && 'refusal' in first) {
    throw new TrituneError(
      'SERVER_FAILED',
      plainLine(`the run would fail: a test request failed: ${first.refusal}`),
      'try one request with tritune profile, and read the log of the server',
    );
  }
  return expectation;
}

async function tryRequests(
  spec: StudySpec,
  workloads: StudiedWorkloads | null,
  opened: OpenServer,
  models: TritonModels,
) {
  const prepared = workloads ? await inputsOfWorkloads(spec, models, workloads) : [];
  const [{ inputs }] = await inputsOfFronts(spec, models, prepared[0]);
  return {
    inputs,
    ...(await lookFirst(trafficTo(spec, spec.model), opened, models.originalModel, inputs, firstTimeoutMs(spec))),
  };
}

/** Returns how much a sampler would measure. A limit on trials that it cannot reach is left out. */
export function searchLine(
  sampler: string,
  { trials, measurements }: Pick<Expected, 'trials' | 'measurements'>,
): string {
  const limit = trials < measurements ? `up to ${trials} trials, ` : '';
  return `sampler ${sampler}: ${limit}about ${measurements} measurements`;
}

const formatSpan = (least: number, most: number): string =>
  least < most ? `${formatDuration(least)} to ${formatDuration(most)}` : formatDuration(most);

/** Returns the basis of the expected duration. */
function describeBasis(first: FirstRequests | null, seen: Seen, { seconds, leastSeconds, even }: Expected): string {
  const answered = first && 'requestMs' in first ? first : null;
  const parts = [
    ...(answered ? [`a single request takes ${formatMs(answered.requestMs)}, measured with ${answered.sent}`] : []),
    seen.loadSeconds === null
      ? `assuming ${leastSeconds < seconds ? 'up to ' : ''}${formatDuration(even.loadSeconds)} for each load of the model`
      : `a load of the model takes ${formatMs(seen.loadSeconds * MS_PER_S)}`,
  ];
  return ` (${parts.join(', ')})`;
}
