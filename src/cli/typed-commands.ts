import { commandName } from '#base/command-name.ts';

/** Commands that a message may tell a person to type. */
export const namedCommands = [
  ...['tune', 'restore', 'profile', 'capacity', 'doctor', 'config', 'install-triton', 'report', 'compare', 'space'],
  ...['trace', 'emulate', 'explain', 'mcp', 'fleet', 'watch', 'workload', 'schema', 'calibrate', 'plot', 'completion'],
];

const NAMED = new RegExp(`(?<![\\w./-])(?<!npx )tritune (?=(?:${namedCommands.join('|')})\\b)`, 'g');

/**
 * Returns a message with its commands as this process was started: rooms below write
 * `tritune restore`.
 */
export const withCommandName = (text: string, name: string = commandName()): string =>
  text.replaceAll(NAMED, `${name} `);
