import type { TemporalFlags } from '#app/fleet/temporal-options.ts';
import { formatCommandLine } from '#base/command-name.ts';
import { temporalOptionTable } from '../options/temporal.ts';

/**
 * Returns the command that follows a study of the fleet, with the options for Temporal as they were
 * given.
 */
export function attachCommand(study: string, temporal: string, flags: TemporalFlags): string {
  const words = Object.entries(temporalOptionTable).flatMap(([key, row]) => {
    const value = flags[key as keyof TemporalFlags];
    const [flag = ''] = row.flags.split(' ');
    if (value === undefined || value === false || value === row.default) return [];
    return value === true ? [flag] : [flag, value];
  });
  return formatCommandLine(['fleet', 'attach', study, '--temporal', temporal, ...words]);
}
