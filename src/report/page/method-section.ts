import { median } from 'simple-statistics';
import { formatDuration, formatFigure, formatMs } from '#base/format.ts';
import { canonicalJson, type Json, type JsonObject } from '#base/json.ts';
import { typedLine } from '#base/shell-words.ts';
import { describeMachine } from '#profiler/machine.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { SearchSpace } from '#space/types.ts';
import { findJointSpace, findSpace } from '#study/analysis/settings.ts';
import { listConstraints } from '#study/goal/goal.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import type { StudyStarted } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { agentsOver, describeAgent, describeAgents } from '#study/summary/agent-words.ts';
import { describeConstraint, describeObjectives, describeServer } from '#study/summary/describe.ts';
import { findNoiseFloor } from '#study/summary/noise-floor.ts';
import { describeNoise, noiseSentence } from '#study/summary/noise-words.ts';
import { type Html, html } from '../html.ts';
import { heldText } from './speed-section.ts';

type Fact = readonly [name: string, text: string];

/** Returns how everything was measured, so that a doubting reader can repeat it. */
export function methodSection(state: StudyState): Html {
  const facts: readonly Fact[] = [
    ...what(state),
    ...questionFacts(state),
    ...atRest(state),
    ...measured(state),
    ...ended(state),
  ];
  return html`<h2>How it was measured</h2>
<dl>${facts.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl>
${repetition(state.started.commandLine)}
<p class="soft">Everything on this page is computed from <code>journal.jsonl</code> beside this file; <code>tritune report</code> repeats that. docs/how-it-measures.md describes the measurement rules.</p>`;
}

/** A program that tunes through the library has no tritune command line. */
const repetition = (commandLine: readonly string[]): Html =>
  commandLine.length === 0
    ? html`<p>It was run by a program, through the library, with the options above.</p>`
    : html`<p>To repeat it:</p>
<pre>tritune ${typedLine(commandLine)}</pre>`;

function what({ started, server, servers }: StudyState): readonly Fact[] {
  return [
    ['tritune', started.trituneVersion],
    ['began', started.at],
    [
      'server',
      `${describeServer(server)}, ${server.protocol} at ${server.url}, control over ${server.controlProtocol} at ${server.controlUrl}`,
    ],
    ...(server.machine ? [['measured on', describeMachine(server.machine)] as const] : []),
    ...(server.machine?.roundTripMs === undefined
      ? []
      : [['round trip', `${formatMs(server.machine.roundTripMs)} to open a connection to the server`] as const]),
    ...servers.flatMap(({ name, machine }) =>
      machine ? [[`${name} measured on`, describeMachine(machine)] as const] : [],
    ),
  ];
}

function questionFacts(state: StudyState): readonly Fact[] {
  const { started, goal } = state;
  const { mode, low, high } = started.levels;
  const { specVersion: _, model: __, modelAnalyzer: ___, space: ____, ...rest } = started.spec;
  const options = listLeaves(rest as JsonObject);
  return [
    ['goal', goalText(state)],
    ['load levels', `${mode} ${low} to ${high}`],
    ['search', `${started.sampler}, seed ${started.seed}${spaceText(started)}`],
    ...(goal === started.goal ? [] : [['goal at the start', 'different: it was changed during the run'] as const]),
    ...(options.length > 0
      ? [
          [
            'options',
            options
              .map(([name, value]) => `${name}=${typeof value === 'string' ? value : canonicalJson(value ?? null)}`)
              .join(' '),
          ] as const,
        ]
      : []),
    ...translated(state),
  ];
}

/**
 * Returns the space and its parameters; for several models, each one's, and the rules across them.
 */
function spaceText(started: StudyStarted): string {
  const named = ({ name, parameters }: SearchSpace): string =>
    `${name}: ${parameters.map((one) => one.name).join(', ')}`;
  const joint = findJointSpace(started);
  if (!joint) {
    const space = findSpace(started);
    return space ? `, space ${named(space)}` : '';
  }
  const spaces = joint.members.map(({ model, space }) => `${model} space ${named(space)}`);
  const rules = joint.across.rules.map(({ message }) => message);
  return `; ${[...spaces, ...(rules.length > 0 ? [`none where ${rules.join(', or ')}`] : [])].join('; ')}`;
}

/** Returns every field of a spec that is not an object, with its path, such as `traffic.batch`. */
function listLeaves(fields: JsonObject, path = ''): readonly (readonly [name: string, value: Json])[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined || value === null) return [];
    const isSection = typeof value === 'object' && !Array.isArray(value);
    return isSection ? listLeaves(value as JsonObject, `${path}${name}.`) : [[`${path}${name}`, value] as const];
  });
}

/** Names the Model Analyzer file that requested the run, and the parts of it that were ignored. */
function translated({ started: { modelAnalyzer } }: StudyState): readonly Fact[] {
  if (!modelAnalyzer) return [];
  const left = modelAnalyzer.ignored.map(({ key, reason }) => `${key} (${reason})`).join('; ');
  return [['Model Analyzer', `${modelAnalyzer.file}${left === '' ? '' : `, without ${left}`}`]];
}

function goalText({ goal }: StudyState): string {
  const limits = listConstraints(goal).map((constraint) => {
    const percentile = constraint.metric === 'latency' && goal.budget ? `p${goal.budget.percentile} ` : '';
    return `${percentile}${describeConstraint(constraint, toMetrics(goal))}`;
  });
  return `${describeObjectives(goal.objectives)}, with ${limits.join(', ')}`;
}

/** Returns the state of machine and server before there was a load. */
function atRest(state: StudyState): readonly Fact[] {
  const floor = findNoiseFloor(state);
  return floor ? [['idle', noiseSentence(describeNoise(floor, state.goal.budget))]] : [];
}

function measured(state: StudyState): readonly Fact[] {
  const { trials, finals, voidRounds, counts } = state;
  const again =
    voidRounds === 0
      ? ''
      : `; ${voidRounds} rounds were discarded, because the original was much slower in them than before`;
  const all = [...trials.flatMap(({ measurements }) => measurements), ...finals.map(({ measurement }) => measurement)];
  const tally: Fact = [
    'trials',
    `${counts.trials} (${counts.failed} failed), ${counts.measurements} measurements, ${counts.reloads} reloads`,
  ];
  if (all.length === 0) return [tally];
  const middle = (of: (each: (typeof all)[number]) => number): string => formatFigure(median(all.map(of)));
  const bound = all.filter(({ client }) => client.bound).length;
  const loose = all.filter(({ stable }) => !stable).length;
  const held = heldText(state);
  const foreign = all.filter(({ foreignRequests }) => foreignRequests).length;
  return [
    tally,
    [
      'a measurement',
      `${middle(({ windows }) => windows)} windows, ${middle(({ durationMs }) => durationMs / 1e3)} s and ${middle(({ requests }) => requests)} requests in the median; ${loose === 0 ? 'all stable' : `${loose} of ${all.length} were not stable`}`,
    ],
    [
      'load generator',
      `${bound === 0 ? 'the limit in no measurement' : `the limit in ${bound} of ${all.length}, which were discarded`}; ${middle(({ client }) => client.cpuUsPerRequest)} µs of CPU per request in the median, timers were at most ${formatFigure(Math.max(...all.map(({ client }) => client.eventLoopDelayMs)))} ms late`,
    ],
    ...agentFacts(all),
    ...clockFacts(all),
    ...(held === null ? [] : [['speed', held] as const]),
    ...(foreign > 0 ? [['other traffic', `in ${foreign} of ${all.length} measurements`] as const] : []),
    [
      'final',
      finals.length === 0
        ? 'none'
        : `${finals.length} measurements, alternating between the best and the original${again}`,
    ],
  ];
}

/** Returns the agents on other machines that sent the load, together and one by one. */
function agentFacts(all: readonly Measurement[]): readonly Fact[] {
  const agents = agentsOver(all);
  if (agents.length === 0) return [];
  return [
    ['agents', describeAgents(agents)],
    ...agents.map((agent, index): Fact => [`agent ${index + 1}`, describeAgent(agent)]),
  ];
}

/** Returns the clock of each GPU at both ends of the study, where clocks are known. */
function clockFacts(all: readonly Measurement[]): readonly Fact[] {
  const gpus = all.flatMap(({ device }) => device.gpus ?? []).filter(({ clockMhz }) => clockMhz !== undefined);
  return [...Map.groupBy(gpus, ({ uuid }) => uuid)].map(([uuid, seen]) => {
    const clocks = seen.map(({ clockMhz }) => clockMhz as number);
    const mhz = (clock: number | undefined): string => formatFigure(Math.round(clock ?? Number.NaN));
    return [
      'GPU clock',
      `${uuid}: ${mhz(clocks[0])} MHz in the first measurement, ${mhz(clocks.at(-1))} in the last, ${mhz(Math.min(...clocks))} to ${mhz(Math.max(...clocks))} in all`,
    ];
  });
}

function ended({ finished, restored, elapsedSeconds, loadSeconds }: StudyState): readonly Fact[] {
  return [
    ['time', `${formatDuration(elapsedSeconds)}, ${formatDuration(loadSeconds)} of it loading configs`],
    ['stopped because', finished?.stopReason ?? 'the run is not finished'],
    ...(finished?.notes ?? []).map((note): Fact => ['at the end', note]),
    ['model after the run', restored?.detail ?? 'not restored yet'],
  ];
}
