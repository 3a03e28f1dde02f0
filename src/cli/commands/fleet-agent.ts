import { Command } from 'commander';
import type { AgentSpec } from '#app/run-agent.ts';
import { inertLine } from '#base/format.ts';
import { addOptions } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';
import { agentOptionTable } from './fleet-agent-options.ts';

/**
 * `tritune fleet agent`: sends load for a controller on another machine until it is interrupted.
 */
export function agentCommand(terminal: Terminal): Command {
  const command = new Command('agent').description(
    'Send load from this machine for profile, tune or doctor with --agents on another machine',
  );
  return addOptions(command, agentOptionTable).action(async (options: AgentSpec) => {
    const { runAgent } = await import('#app/run-agent.ts');
    const agent = await runAgent(options, (line) => terminal.tell(inertLine(line)));
    terminal.print(`tritune agent listens on ${agent.address}`);
    await new Promise<void>((resolve) => {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.once(name, () => resolve());
    });
    await agent.close();
  });
}
