import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { max } from 'simple-statistics';
import { realClock } from '#base/clock.ts';
import { withFailures, withHeartbeats } from '#fleet/temporal/activity-wrappers.ts';
import { createDataConverter, openClient } from '#fleet/temporal/connection.ts';
import { Keeper, type StudyHost } from '#fleet/temporal/keeper.ts';
import { workerPackages } from '#fleet/temporal/packages.ts';
import { startStudy, steerStudy } from '#fleet/temporal/studies.ts';
import { bundleNow } from '#fleet/temporal/workflow-bundle.ts';
import { WorkRunner } from '#fleet/work-runner.ts';
import { groupQueue, keeperQueue, serverQueue } from '#fleet/workflow/names.ts';
import type { GroupActivities, ServerActivities } from '#fleet/workflow/seams.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { createJournal } from '#study/records/journal.ts';
import { makeSampler } from '#study/search/samplers/registry.ts';
import { steadySpeeds } from '#study/speed/speeds.ts';
import { createPlan, toGoal } from '../lab/problems/contest.ts';
import { OfflineWorld } from '../lab/problems/world.ts';
import { freshDirectory } from '../test/support/run-directory.ts';
import { startTemporal } from '../test/support/temporal-server.ts';
import { historiesOf, largestPayloadOf, type StudyHistory } from './fleet-histories.ts';
import { judgeJournal } from './fleet-journal.ts';
import { largeProblem } from './large-problem.ts';

/**
 * One study over many servers to its end, on Temporal's dev server with the real workflow, keeper,
 * conductor and journal. The servers are simulated and a trial takes no time but a pause, so that
 * outcomes come one by one. A person pauses and resumes the study now and then. Says the events and
 * bytes of each history, what the conductor takes, and whether the journal is whole.
 * `node --expose-gc bench/fleet-history.ts [TRIALS] [SERVERS] [PER_SECOND]`.
 */
const [trials = '10000', servers = '64', perSecond = '20'] = process.argv.slice(2);
/** Temporal ends a workflow at these limits, and warns at a fifth of them. */
const LIMITS = { events: 51_200, bytes: 50 * 2 ** 20 };
const [GROUP, KEEPER, STUDY] = ['scale', 'keeper', 'scale'];
const REPORT_MS = 60_000;
/** The study is paused this often, for so long. */
const PAUSES = 10;
const PAUSED_MS = 3_000;

const folder = await freshDirectory();
const temporal = await startTemporal(null);
const at = { address: temporal.address, namespace: 'default', payloadKey: Buffer.alloc(32, 7) };
const problem = largeProblem();
const goal = toGoal(problem);
const { testProblem } = problem;
const { space, levels, topology } = testProblem;
const plan = { ...createPlan(problem, goal, 1), maxTrials: Number(trials), finalRounds: 1 };
const names = Array.from({ length: Number(servers) }, (_, index) => `s${index}`);
const pauseMs = (1000 * names.length) / Number(perSecond);

let [finished, pauses, opened] = [0, 0, 0];
let advances: { readonly ms: number; readonly after: number }[] = [];
const journalPath = join(folder, 'journal.jsonl');
const studies: StudyHost = {
  async open() {
    opened++;
    const journal = await createJournal(journalPath);
    const sampler = makeSampler('random', space, { seed: 1, goal, levels, topology, leastGain: 0 });
    const build = new OfflineWorld(testProblem, { seed: 1, statistics: true }).adapter.build;
    const parts = { sampler, journal: { append: journal.append }, clock: realClock, build };
    return { plan, parts, writeDocuments: async () => undefined, close: journal.close };
  },
  read: async () => null,
};

const packages = await workerPackages();
const { worker: sdk } = packages;
sdk.Runtime.install({ shutdownSignals: [], logger: new sdk.DefaultLogger('ERROR') });
const connection = await sdk.NativeConnection.connect({ address: at.address });
const common = { connection, namespace: at.namespace, dataConverter: createDataConverter(at) };
const claim: GroupActivities['claim'] = async () => KEEPER;
const { openStudy, advance, concludeStudy, readRecords } = new Keeper(studies, async () => names);
const timedAdvance: typeof advance = async (study, report) => {
  const startMs = performance.now();
  const directive = await advance(study, report);
  finished += report.outcomes.filter(({ work }) => work.kind === 'trial' && work.trial > 0).length;
  advances.push({ ms: performance.now() - startMs, after: finished });
  return directive;
};
const workers = [
  await sdk.Worker.create({
    ...common,
    taskQueue: groupQueue(GROUP),
    activities: withFailures({ claim }, packages),
    workflowBundle: await bundleNow(packages),
  }),
  await sdk.Worker.create({
    ...common,
    taskQueue: keeperQueue(GROUP, KEEPER),
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
    await realClock.sleep(pauseMs * (0.5 + ((index * 7919 + asked.trial) % 97) / 97));
    return runner.run(asked, new AbortController().signal);
  };
  const activities = { hold: async () => undefined, work, restore: () => runner.restore() };
  return sdk.Worker.create({
    ...common,
    taskQueue: serverQueue(GROUP, server),
    activities,
    maxConcurrentActivityTaskExecutions: 1,
    maxConcurrentActivityTaskPolls: 1,
  });
}

const running = workers.map((each) => each.run());
const { client, close } = await openClient(at);
const startMs = performance.now();
const minutesSoFar = (): string => ((performance.now() - startMs) / 60_000).toFixed(1);
const report = setInterval(() => {
  const ms = advances.map((each) => each.ms);
  const rate = (1000 * finished) / (performance.now() - startMs);
  globalThis.gc?.();
  const heap = process.memoryUsage().heapUsed / 2 ** 20;
  const conductor = `the conductor takes ${median(ms).toFixed(0)} ms for a report (longest ${max([0, ...ms]).toFixed(0)})`;
  console.log(
    `${minutesSoFar()} min: ${finished} trials, ${rate.toFixed(1)} a second; ${conductor}; heap ${heap.toFixed(0)} MiB`,
  );
  advances = [];
  if (finished > ((pauses + 1) * Number(trials)) / (PAUSES + 1)) pauseOnce().catch(console.error);
}, REPORT_MS);

async function pauseOnce(): Promise<void> {
  pauses++;
  await steerStudy(client, STUDY, { kind: 'pause' });
  await realClock.sleep(PAUSED_MS);
  await steerStudy(client, STUDY, { kind: 'resume' });
}

await startStudy(client, { study: STUDY, group: GROUP, spec: toSpec({ model: 'm' }), commandLine: [] });
const end = await client.workflow.getHandle(STUDY).result();
clearInterval(report);
console.log(
  `${servers} servers, ${minutesSoFar()} minutes: ${JSON.stringify(end)}; paused ${pauses} times, opened ${opened} times`,
);
const histories = await historiesOf(client, STUDY);
for (const each of histories) console.log(`  a history of ${textOf(each)}`);
console.log(
  `${histories.length} histories; limits ${textOf(LIMITS)}; largest payload ${((await largestPayloadOf(client, STUDY, histories)) / 1024).toFixed(0)} KiB`,
);
await close();
for (const each of workers) each.shutdown();
await Promise.all(running);
await connection.close();
await temporal.kill();
console.log(`journal: ${journalPath}, ${((await stat(journalPath)).size / 2 ** 20).toFixed(0)} MiB`);
for (const line of await judgeJournal(folder, Number(trials))) console.log(line);

function textOf({ events, bytes }: StudyHistory | typeof LIMITS): string {
  return `${events} events and ${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
}
