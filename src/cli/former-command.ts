import type { Terminal } from './terminal.ts';

/** Says the new name of a command, whose name of before works once more. */
export const tellFormerCommand = (before: string, now: string, { tell }: Terminal): void =>
  tell(`tritune ${before} is now tritune ${now}, and will go`);
