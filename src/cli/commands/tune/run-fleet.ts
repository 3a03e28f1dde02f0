import { exitCodes, toExitCode } from '#app/exit-codes.ts';
import { checkFleetSpec } from '#app/fleet/fleet-spec.ts';
import { beginOnFleet, followOnFleet } from '#app/fleet/follow.ts';
import { openMirror } from '#app/fleet/mirror.ts';
import { temporalAddress } from '#app/fleet/temporal-options.ts';
import { discardEmpty, prepareOutput, safeName } from '#app/run-directory.ts';
import { exportConfig } from '#app/run-documents.ts';
import { checkSpec, recordedSpec } from '#app/study/open-study.ts';
import { closeTelemetry, openTelemetry, type Telemetry, withTelemetry } from '#app/telemetry.ts';
import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { openClient } from '#fleet/temporal/connection.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { listenForInterrupts } from '../../interrupts.ts';
import type { Terminal } from '../../terminal.ts';
import { attachCommand } from '../fleet-attach-command.ts';
import type { TuneFleetFlags } from './fleet-options.ts';
import type { UiName } from './options.ts';
import { openScreen, type Screen } from './screen.ts';

interface FleetRun extends TuneFleetFlags {
  readonly ui: UiName;
  readonly otlp?: string;
}

/**
 * `tritune tune --temporal`: starts the study on the fleet at this address, and follows it unless
 * told to leave.
 */
export async function runOnFleet(spec: StudySpec, fleet: string, flags: FleetRun, terminal: Terminal): Promise<number> {
  const { group, detach, otlp } = flags;
  if (group === undefined) throw new TrituneError('USAGE', '--temporal needs a group of servers', 'add --group NAME');
  if (detach && otlp !== undefined)
    throw new TrituneError('USAGE', '--otlp sends what is watched, so it has no use with --detach', 'leave one out');
  checkFleetSpec(spec);
  checkSpec(spec);
  const study = formatName(flags.study ?? `${safeName(spec.model)}-${stamp(realClock.wallMs())}`);
  const { client, close } = await openClient(await temporalAddress(fleet, flags));
  const order = { study, group, spec: recordedSpec(spec), commandLine: process.argv.slice(2) };
  try {
    if (detach) {
      await beginOnFleet(client, order);
      terminal.print(`${study}: started; watch it with ${attachCommand(study, fleet, flags)}`);
      return exitCodes.done;
    }
    return await watched(order, { ...flags, spec }, client, terminal);
  } finally {
    await close();
  }
}

async function watched(
  order: Parameters<typeof beginOnFleet>[1],
  flags: FleetRun & { readonly spec: StudySpec },
  client: Parameters<typeof beginOnFleet>[0],
  terminal: Terminal,
): Promise<number> {
  const { study } = order;
  const { ui, spec, otlp, fleet = '' } = flags;
  const mirror = await openMirror(
    await prepareOutput(spec.output ?? `tritune-runs/${study}`, spec.model, realClock.wallMs()),
  );
  const interrupts = listenForInterrupts(
    (line) => (screen ?? terminal).tell(line),
    () => `the study continues and puts its servers back; watch it with ${attachCommand(study, fleet, flags)}`,
    'ending the study, and putting its servers back',
  );
  let screen: Screen | null = null;
  let telemetry: Telemetry | null = null;
  try {
    if (mirror.earlier.length > 0)
      throw new TrituneError(
        'OUTPUT_EXISTS',
        `${mirror.directory} already contains a study`,
        'choose another --output',
      );
    telemetry = await openTelemetry(otlp, { command: 'tune', model: spec.model });
    await beginOnFleet(client, order);
    screen = await openScreen(ui, terminal, {
      earlier: [],
      elsewhere: 'ends',
      interrupt: () => interrupts.raise('asked to quit'),
      exportConfig: (trial) => exportConfig(mirror.directory, spec.model, trial),
    });
    const { signal } = interrupts;
    const watch = withTelemetry(screen, telemetry);
    const outcome = await followOnFleet(client, study, mirror, watch, { signal, stops: true });
    interrupts.check();
    await screen.untilLeft(signal);
    return toExitCode(outcome);
  } finally {
    screen?.close();
    await closeTelemetry(telemetry, terminal.tell);
    try {
      await mirror.journal.close();
      await discardEmpty(mirror.directory);
    } finally {
      interrupts.release();
    }
  }
}

/** Errors: USAGE for a name that no folder can have. */
function formatName(study: string): string {
  if (study === safeName(study)) return study;
  throw new TrituneError(
    'USAGE',
    `'${study}' is not a valid name of a study`,
    'use only letters, digits, dots, hyphens and underscores',
  );
}

const stamp = (wallMs: number): string =>
  new Date(wallMs).toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-');
