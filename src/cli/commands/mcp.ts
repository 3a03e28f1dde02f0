import { Command } from 'commander';
import { addExamples, type Example } from '../help.ts';
import { addOptions } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';
import { agentOptionTable, type McpOptions, reachOptionTable } from './mcp-options.ts';

const examples: readonly Example[] = [
  ['Let an agent look, and change nothing', 'tritune mcp -u gpu-box:8001'],
  ['Let it tune a server that has no traffic', 'tritune mcp -u staging:8001 --allow-changes'],
];

/**
 * `tritune mcp`: serves plan, explain, compare, profile and tune to agents, over the Model Context
 * Protocol.
 */
export function mcpCommand(terminal: Terminal): Command {
  const command = new Command('mcp').description(
    'Serve tools for agents over the Model Context Protocol, on standard input and output; read-only by default',
  );
  addExamples(command, examples, 'Guide: docs/mcp.md');
  addOptions(command, { ...reachOptionTable, ...agentOptionTable });
  // As typed: the commands that tools run parse them again.
  const reach: string[] = [];
  for (const option of command.options.filter((each) => Object.hasOwn(reachOptionTable, each.attributeName()))) {
    command.on(`option:${option.name()}`, (value: string | null) => {
      reach.push(value === null ? `--${option.name()}` : `--${option.name()}=${value}`);
    });
  }
  return command.action(async (options: McpOptions) => {
    const { runMcp } = await import('./run-mcp.ts');
    process.exitCode = await runMcp(reach, options, terminal);
  });
}
