import { Command } from 'commander';
import { addOptions } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import { agentCommand } from './agent/command.ts';
import {
  type AttachFlags,
  attachOptionTable,
  type StatusFlags,
  type StopFlags,
  statusOptionTable,
  stopOptionTable,
  type WorkerFlags,
  workerOptionTable,
} from './options.ts';
import { fleetWatchCommand } from './watch/command.ts';

/** `tritune fleet`: workers over many servers, the studies that they do, and agents that send load. */
export function fleetCommand(terminal: Terminal): Command {
  const fleet = new Command('fleet').description(
    'many machines: workers that tune many servers at once, on Temporal (docs/fleet.md), and agents that send load (docs/agents.md)',
  );
  fleet.addCommand(agentCommand(terminal));
  fleet.addCommand(fleetWatchCommand(terminal));
  fleet.addCommand(
    addOptions(
      new Command('worker').description('drive one server for studies of its group, and keep their journals'),
      workerOptionTable,
    ).action(async (options: WorkerFlags) => {
      const { runWorker } = await import('./worker.ts');
      process.exitCode = await runWorker(options, terminal);
    }),
  );
  fleet.addCommand(
    addOptions(
      new Command('status').description('list the studies, and what their servers do'),
      statusOptionTable,
    ).action(async (options: StatusFlags) => {
      const { runStatus } = await import('./studies.ts');
      process.exitCode = await runStatus(options, terminal);
    }),
  );
  fleet.addCommand(
    addOptions(
      new Command('attach')
        .description('watch and steer a study, and write its documents here; an interrupt leaves it running')
        .argument('<study>', 'its name'),
      attachOptionTable,
    ).action(async (study: string, options: AttachFlags) => {
      const { runAttach } = await import('./studies.ts');
      process.exitCode = await runAttach(study, options, terminal);
    }),
  );
  return fleet.addCommand(
    addOptions(
      new Command('stop').description('end a study: its servers are put back').argument('<study>', 'its name'),
      stopOptionTable,
    ).action(async (study: string, options: StopFlags) => {
      const { runStop } = await import('./studies.ts');
      process.exitCode = await runStop(study, options, terminal);
    }),
  );
}
