import { join } from 'node:path';
import { exitCodes, toExitCode } from '#app/exit-codes.ts';
import { followOnFleet } from '#app/fleet/follow.ts';
import { openMirror } from '#app/fleet/mirror.ts';
import { temporalAddress } from '#app/fleet/temporal-options.ts';
import { RUNS_DIRECTORY, safeName } from '#app/run-directory.ts';
import { exportConfig } from '#app/run-documents.ts';
import { inertLine } from '#base/format.ts';
import { openClient } from '#fleet/temporal/connection.ts';
import { listStudies, type StudyStatus, steerStudy, stopStudy } from '#fleet/temporal/studies.ts';
import { listenForInterrupts } from '../interrupts.ts';
import type { Terminal } from '../terminal.ts';
import { attachCommand } from './fleet-attach-command.ts';
import type { AttachFlags, StatusFlags, StopFlags } from './fleet-options.ts';
import { openScreen, type Screen } from './tune/screen.ts';

/** `tritune fleet status`. */
export async function runStatus(flags: StatusFlags, terminal: Terminal): Promise<number> {
  const { client, close } = await openClient(await temporalAddress(flags.temporal, flags));
  try {
    const studies = await listStudies(client, flags.group);
    for (const line of studies.flatMap(statusLines)) terminal.print(inertLine(line));
    if (studies.length === 0) terminal.print('there are no studies');
    return exitCodes.done;
  } finally {
    await close();
  }
}

/** Returns a line for the study and one for each of its servers. */
export function statusLines({ study, group, status, startedAt, progress }: StudyStatus): readonly string[] {
  const phase = progress ? `, ${progress.phase}` : '';
  const head = `${study}  group ${group}  ${status.toLowerCase()}${phase}  since ${startedAt.toISOString().slice(0, 19)}Z`;
  if (!progress) return [head];
  const { running, idle, held, joining = [] } = progress;
  const work = running.map(
    ({ server, kind, trial }) => `  ${server}: ${kind === 'original' ? 'original' : `${kind} ${trial}`}`,
  );
  const waiting = idle.map((server) => `  ${server}: idle`);
  const others = held.filter((server) => !idle.includes(server) && !running.some((each) => each.server === server));
  return [
    head,
    ...[
      ...work,
      ...waiting,
      ...others.map((server) => `  ${server}: ${joining.includes(server) ? 'getting ready' : 'away'}`),
    ].sort(),
  ];
}

/** `tritune fleet stop`. */
export async function runStop(study: string, flags: StopFlags, terminal: Terminal): Promise<number> {
  const { client, close } = await openClient(await temporalAddress(flags.temporal, flags));
  try {
    if (flags.now) await stopStudy(client, study);
    else await steerStudy(client, study, { kind: 'stop-search' });
    const how = flags.now ? 'ending now, and putting its servers back' : 'ending the search, then running the final';
    terminal.print(`${study}: ${how}; watch it with ${attachCommand(study, flags.temporal, flags)}`);
    return exitCodes.done;
  } finally {
    await close();
  }
}

/** `tritune fleet attach`. */
export async function runAttach(study: string, flags: AttachFlags, terminal: Terminal): Promise<number> {
  const { client, close } = await openClient(await temporalAddress(flags.temporal, flags));
  const mirror = await openMirror(flags.output ?? join(RUNS_DIRECTORY, safeName(study)));
  const interrupts = listenForInterrupts(
    (line) => (screen ?? terminal).tell(line),
    () => `the study continues; watch it with ${attachCommand(study, flags.temporal, flags)}`,
    'the study continues without being watched',
  );
  let screen: Screen | null = null;
  try {
    screen = await openScreen(flags.ui, terminal, {
      earlier: mirror.earlier,
      elsewhere: 'goes-on',
      interrupt: () => interrupts.raise('asked to quit'),
      exportConfig: (trial) => exportConfig(mirror.directory, study, trial),
    });
    const { signal } = interrupts;
    const outcome = await followOnFleet(client, study, mirror, screen, { signal, stops: false });
    interrupts.check();
    await screen.untilLeft(signal);
    return toExitCode(outcome);
  } finally {
    screen?.close();
    await mirror.journal.close();
    await close();
    interrupts.release();
  }
}
