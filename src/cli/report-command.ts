import { Command } from 'commander';
import type { Terminal } from './terminal.ts';

/** `tritune report DIR`: writes the documents of a study anew from its journal, finished or not; needs no server. */
export function reportCommand(terminal: Terminal): Command {
  return new Command('report')
    .description("write a study's documents anew from its journal")
    .argument('<directory>', 'the output directory of a run')
    .action(async (directory: string) => {
      const { writeDocuments } = await import('./write-documents.ts');
      const { files } = await writeDocuments(directory);
      for (const file of Object.values(files)) if (file !== null) terminal.print(file);
    });
}
