import { Command, Option } from 'commander';
import type { Terminal } from './terminal.ts';

/** `tritune report DIR`: writes the documents of a study anew from its journal, or shows it; needs no server. */
export function reportCommand(terminal: Terminal): Command {
  return new Command('report')
    .description("write a study's documents anew from its journal, or look at it")
    .argument('<directory>', 'the output directory of a run')
    .addOption(
      new Option('--ui <screen>', 'lines writes the documents and names them; tui shows the study')
        .choices(['lines', 'tui'])
        .default('lines'),
    )
    .option('--plots', 'write the charts as SVG and PNG files too, into DIR/plots')
    .action(async (directory: string, { ui, plots }: { readonly ui: 'lines' | 'tui'; readonly plots?: true }) => {
      const { browseDocuments, writeAllDocuments, writeAllPlots } = await import('./write-documents.ts');
      if (ui === 'tui') return browseDocuments(directory, terminal);
      for (const { files } of await writeAllDocuments(directory)) {
        for (const file of Object.values(files)) if (file !== null) terminal.print(file);
      }
      for (const file of plots ? await writeAllPlots(directory) : []) terminal.print(file);
    });
}
