import { Command } from 'commander';
import { addOptions } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';
import { agentCommand } from './fleet-agent.ts';
import {
  type AttachFlags,
  attachOptionTable,
  type StatusFlags,
  type StopFlags,
  statusOptionTable,
  stopOptionTable,
  type WorkerFlags,
  workerOptionTable,
} from './fleet-options.ts';
import { formerWatchCommand } from './watch.ts';

/** `tritune fleet`: workers over many servers, their studies, and agents that send load. */
export function fleetCommand(terminal: Terminal): Command {
  const fleet = new Command('fleet').description(
    'Tune many servers at once with workers (docs/fleet.md), and send load with agents (docs/agents.md)',
  );
  fleet.addCommand(agentCommand(terminal));
  fleet.addCommand(formerWatchCommand(terminal), { hidden: true });
  fleet.addCommand(
    addOptions(
      new Command('worker').description('Run trials on one server for the studies of its group'),
      workerOptionTable,
    ).action(async (options: WorkerFlags) => {
      const { runWorker } = await import('./fleet-worker.ts');
      process.exitCode = await runWorker(options, terminal);
    }),
  );
  fleet.addCommand(
    addOptions(
      new Command('status').description('List the studies and what their servers are doing'),
      statusOptionTable,
    ).action(async (options: StatusFlags) => {
      const { runStatus } = await import('./fleet-studies.ts');
      process.exitCode = await runStatus(options, terminal);
    }),
  );
  fleet.addCommand(
    addOptions(
      new Command('attach')
        .description('Watch and steer a study, and write its results here; Ctrl-C leaves it running')
        .argument('<study>', 'Name of the study'),
      attachOptionTable,
    ).action(async (study: string, options: AttachFlags) => {
      const { runAttach } = await import('./fleet-studies.ts');
      process.exitCode = await runAttach(study, options, terminal);
    }),
  );
  return fleet.addCommand(
    addOptions(
      new Command('stop').description('End a study and put its servers back').argument('<study>', 'Name of the study'),
      stopOptionTable,
    ).action(async (study: string, options: StopFlags) => {
      const { runStop } = await import('./fleet-studies.ts');
      process.exitCode = await runStop(study, options, terminal);
    }),
  );
}
