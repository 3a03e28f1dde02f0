import { join } from 'node:path';
import { max, sum } from 'simple-statistics';
import { VirtualClock } from '../src/base/clock.ts';
import { goalOf, planOf } from '../src/benchmark/contest.ts';
import { OfflineWorld } from '../src/benchmark/world.ts';
import { Keeper, type StudyHost } from '../src/fleet/activities/keeper.ts';
import { WorkRunner } from '../src/fleet/server/work-runner.ts';
import { withFailures, withHeartbeats } from '../src/fleet/temporal/activity-wrappers.ts';
import { dataConverterOf, failureConverterPath, openClient } from '../src/fleet/temporal/connection.ts';
import { workerPackages } from '../src/fleet/temporal/packages.ts';
import { startStudy } from '../src/fleet/temporal/studies.ts';
import { groupQueue, keeperQueue, serverQueue } from '../src/fleet/workflow/names.ts';
import type { GroupActivities, ServerActivities } from '../src/fleet/workflow/seams.ts';
import { freePorts } from '../src/launch/free-ports.ts';
import { specOf } from '../src/spec/spec-of-options.ts';
import type { StudyRecord } from '../src/study/records/records.ts';
import { makeSampler } from '../src/study/search/samplers/registry.ts';
import { steadySpeeds } from '../src/study/speed/speeds.ts';
import { freshDirectory } from '../test/support/cli.ts';
import { startTemporal } from '../test/support/temporal-server.ts';
import { largeProblem } from './large-problem.ts';

/**
 * The history of one study over many servers, on Temporal's dev server with the real workflow, keeper and conductor. The servers are simulated and a trial
 * takes no time but a pause, so that outcomes come one by one. Says the events and bytes of each history. `node bench/fleet-history.ts [TRIALS] [SERVERS] [PER_SECOND]`.
 */
const [trials = '10000', servers = '64', perSecond = '20'] = process.argv.slice(2);
/** Temporal ends a workflow at these limits. */
const LIMITS = { events: 51_200, bytes: 50 * 2 ** 20 };
const [GROUP, KEEPER, STUDY] = ['scale', 'keeper', 'scale'];
const REPORT_MS = 60_000;

const folder = await freshDirectory();
const [port = 0] = await freePorts(1);
const temporal = await startTemporal(join(folder, 'temporal.db'), port);
const at = { address: temporal.address, namespace: 'default', payloadKey: Buffer.alloc(32, 7) };
const problem = largeProblem();
const goal = goalOf(problem);
const { testProblem } = problem;
const { space, levels, topology } = testProblem;
const plan = { ...planOf(problem, goal, 1), maxTrials: Number(trials) };
const names = Array.from({ length: Number(servers) }, (_, index) => `s${index}`);
const pauseMs = (1000 * names.length) / Number(perSecond);

let finished = 0;
let advanceMs: number[] = [];
const studies: StudyHost = {
  async open() {
    const append = async (record: StudyRecord): Promise<void> => {
      if (record.type === 'trial-finished') finished++;
    };
    const sampler = makeSampler('random', space, { seed: 1, goal, levels, topology, leastGain: 0 });
    const build = new OfflineWorld(testProblem, { seed: 1, statistics: true }).adapter.build;
    const parts = { sampler, journal: { append }, clock: new VirtualClock(Date.now()), build };
    return { plan, parts, writeDocuments: async () => undefined, close: async () => undefined };
  },
  read: async () => null,
};

const packages = await workerPackages();
const { worker: sdk } = packages;
sdk.Runtime.install({ shutdownSignals: [], logger: new sdk.DefaultLogger('ERROR') });
const connection = await sdk.NativeConnection.connect({ address: at.address });
const common = { connection, namespace: at.namespace, dataConverter: dataConverterOf(at) };
const claim: GroupActivities['claim'] = async () => KEEPER;
const { openStudy, advance, concludeStudy, readRecords } = new Keeper(studies, async () => names);
const timedAdvance: typeof advance = async (...given) => {
  const startMs = performance.now();
  const directive = await advance(...given);
  advanceMs.push(performance.now() - startMs);
  return directive;
};
const workflowsPath = join(import.meta.dirname, '../src/fleet/workflow/workflows.ts');
const workers = [
  await sdk.Worker.create({
    ...{ ...common, taskQueue: groupQueue(GROUP), activities: withFailures({ claim }, packages) },
    workflowBundle: await sdk.bundleWorkflowCode({ workflowsPath, failureConverterPath }),
  }),
  await sdk.Worker.create({
    ...{ ...common, taskQueue: keeperQueue(GROUP, KEEPER) },
    activities: withHeartbeats(
      withFailures({ openStudy, advance: timedAdvance, concludeStudy, readRecords }, packages),
      packages,
    ),
  }),
  ...(await Promise.all(names.map(serverWorker))),
];

function serverWorker(server: string, index: number) {
  const world = new OfflineWorld(testProblem, { seed: 1000 + index, statistics: true });
  const sampler = makeSampler('random', space, { seed: 1, goal, levels, topology });
  const parts = { adapter: world.adapter, sampler, journal: { append: async () => undefined }, clock: world.clock };
  const runner = new WorkRunner(server, plan, { ...parts, estimateSpeeds: steadySpeeds }, () => undefined);
  const work: ServerActivities['work'] = async (_study, asked) => {
    await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + ((index * 7919 + asked.trial) % 97) / 97)));
    return runner.run(asked, new AbortController().signal);
  };
  const activities = { hold: async () => undefined, work, restore: () => runner.restore() };
  return sdk.Worker.create({
    ...{ ...common, taskQueue: serverQueue(GROUP, server), activities, maxConcurrentActivityTaskExecutions: 1 },
    maxConcurrentActivityTaskPolls: 1,
  });
}

const running = workers.map((each) => each.run());
const { client, close } = await openClient(at);
const startMs = performance.now();
const report = setInterval(() => {
  const rate = (1000 * finished) / (performance.now() - startMs);
  const conductor = `the conductor takes ${max(advanceMs).toFixed(0)} ms at most`;
  advanceMs = [0];
  told().then((line) => console.log(`${line}; ${rate.toFixed(1)} trials a second; ${conductor}`), console.error);
}, REPORT_MS);
await startStudy(client, { study: STUDY, group: GROUP, spec: specOf({ model: 'm' }), commandLine: [] });
await client.workflow.getHandle(STUDY).result();
clearInterval(report);
console.log(await told());
await close();
for (const each of workers) each.shutdown();
await Promise.all(running);
await connection.close();
await temporal.kill();

/** Returns the lengths of the histories, by Temporal's own count. */
async function told(): Promise<string> {
  const histories: { readonly events: number; readonly bytes: number }[] = [];
  for await (const { runId } of client.workflow.list({ query: `WorkflowId = '${STUDY}'` })) {
    const { historyLength, historySize = 0 } = await client.workflow.getHandle(STUDY, runId).describe();
    histories.push({ events: historyLength, bytes: historySize });
  }
  const [events, bytes] = [histories.map((each) => each.events), histories.map((each) => each.bytes)];
  const longest = `the longest ${max(events)} events (limit ${LIMITS.events}) and ${(max(bytes) / 2 ** 20).toFixed(1)} MiB (limit ${LIMITS.bytes / 2 ** 20})`;
  const each = `${(sum(events) / finished).toFixed(1)} events and ${(sum(bytes) / finished / 1024).toFixed(1)} KiB a trial`;
  return `${finished} trials on ${servers} servers: ${histories.length} histories, ${longest}; ${each}`;
}
