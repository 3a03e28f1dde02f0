import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatDuration, formatMs, plainLine } from '../base/format.ts';
import { MS_PER_S } from '../base/units.ts';
import { describeSpace, expensiveParameters } from '../space/describe.ts';
import { exitCodes } from './exit-codes.ts';
import type { Expected, Seen } from './expected-duration.ts';
import { type FirstRequests, lookFirst } from './first-requests.ts';
import { headersOf } from './header-options.ts';
import { type OpenServer, type OriginalModel, openServer, readOriginal } from './open-server.ts';
import { planStudy } from './plan-study.ts';
import { assumptionsOf, requestsOf } from './requests.ts';
import type { Terminal } from './terminal.ts';
import type { TuneOptions } from './tune-options.ts';
import { modelOf } from './tune-request.ts';
import { leaveAsItWas } from './tune-study.ts';

/**
 * `--dry-run`: says what would be tried and about how long it would take, for each model. Nothing is changed on a server
 * that was there; a few requests are sent, one after another, which tell how fast the model is and whether it takes them.
 */
export async function dryRun(each: readonly [TuneOptions, ...TuneOptions[]], terminal: Terminal): Promise<number> {
  const [first] = each;
  const models = each.map(modelOf);
  headersOf(first);
  const logs = await mkdtemp(join(tmpdir(), 'tritune-plan-'));
  // A server of its own loads the model when it is looked at, so that it is seen how long that takes.
  const opened = await openServer(first, { laterModels: models }, logs, new AbortController().signal);
  try {
    let [least, most] = [0, 0];
    for (const [index, options] of each.entries()) {
      if (each.length > 1)
        terminal.print(`${index === 0 ? '' : '\n'}model ${index + 1} of ${each.length}: ${models[index]}`);
      const { timeBudget } = options;
      const share = timeBudget === undefined ? undefined : timeBudget / each.length;
      const { leastSeconds, seconds } = await printPlan({ ...options, timeBudget: share }, opened, terminal);
      least += leastSeconds;
      most += seconds;
    }
    if (each.length > 1) terminal.print(`\nexpected in all: ${spanOf(least, most)}, one model after another`);
    return exitCodes.done;
  } finally {
    await opened.close();
    await rm(logs, { recursive: true, force: true });
  }
}

/** Gives what the study is expected to take. */
async function printPlan(options: TuneOptions, opened: OpenServer, terminal: Terminal): Promise<Expected> {
  const { client, server } = opened;
  const model = modelOf(options);
  const original = await readOriginal(client, model);
  const asked = tryRequests(options, opened, original);
  const { inputs, first, seen } = await asked.finally(() => leaveAsItWas(client, model, original));
  const { plan, space, expected, usual } = planStudy({ options, model, earlier: [], started: null }, server, original);
  const base = plan.study.originalConfig;
  const expectation = expected(seen);
  const { seconds, leastSeconds, measurements, trials } = expectation;
  terminal.print(describeSpace(space, base));
  const { length } = inputs.requests;
  const what = length === 1 ? 'the same request over and over' : `${length} different requests in turn`;
  terminal.print(`sends ${what}, with ${inputs.batch} ${inputs.batch === 1 ? 'sample' : 'samples'} each`);
  for (const line of assumptionsOf(inputs)) terminal.print(line);
  terminal.print(`sampler ${options.sampler}: up to ${trials} trials and about ${measurements} measurements`);
  const isSure = usual !== undefined || seconds >= plan.timeBudgetMs / MS_PER_S;
  const sure = isSure ? '' : ', half or twice that by what it finds';
  terminal.print(
    `expected: about ${spanOf(leastSeconds, seconds)}${sure}${basisOf(first, seen, expectation)}; nothing was changed`,
  );
  const slow = expensiveParameters(space, base);
  if (slow.length > 0)
    terminal.print(`settings of ${slow.join(', ')} can take minutes to load: that would come on top of it`);
  if (first && 'refusal' in first)
    terminal.print(plainLine(`a first request was not answered, and none of the run would be: ${first.refusal}`));
  return expectation;
}

async function tryRequests(options: TuneOptions, opened: OpenServer, original: OriginalModel) {
  const inputs = await requestsOf(options, original);
  return { inputs, ...(await lookFirst(options, opened, original, inputs)) };
}

const spanOf = (least: number, most: number): string =>
  least < most ? `${formatDuration(least)} to ${formatDuration(most)}` : formatDuration(most);

/** What the duration goes by. */
function basisOf(first: FirstRequests | null, seen: Seen, { seconds, leastSeconds, even }: Expected): string {
  const answered = first && 'requestMs' in first ? first : null;
  const parts = [
    ...(answered ? [`a request alone takes ${formatMs(answered.requestMs)} (${answered.sent} were sent)`] : []),
    seen.loadSeconds === null
      ? `loads are taken for ${leastSeconds < seconds ? 'up to ' : ''}${formatDuration(even.loadSeconds)} each`
      : `a load takes ${formatMs(seen.loadSeconds * MS_PER_S)}`,
  ];
  return ` (${parts.join(', ')})`;
}
